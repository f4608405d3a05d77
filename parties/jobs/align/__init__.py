"""Alignment: which rows of two tables are about one person."""
