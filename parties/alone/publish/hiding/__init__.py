"""Disclosure control for tables of counts and sums: cells are hidden, or all are rounded."""
