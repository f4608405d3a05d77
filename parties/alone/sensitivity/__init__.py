"""Noise fitted to one's own numbers by local sensitivity."""
