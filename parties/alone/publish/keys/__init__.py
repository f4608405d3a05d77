"""Ciphers of cells, their keys, and the file of keys."""
