"""Comparison of a synthetic table with a party's own rows: read from files, shown as text, picture and page."""
