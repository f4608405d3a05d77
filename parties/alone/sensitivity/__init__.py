"""Private medians of a party's own numbers, with noise that depends on local sensitivity."""
