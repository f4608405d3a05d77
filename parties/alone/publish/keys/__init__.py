"""Ciphers of cells, their keys, and the file that keeps these."""
