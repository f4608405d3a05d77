"""Publish rows of one's own so that nobody is found in them."""
