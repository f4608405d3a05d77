"""One's own numbers with noise that fits them: local sensitivity, and what may be made of it."""
