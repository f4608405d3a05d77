"""Recoding of quasi-identifiers: searches in lattices, Mondrian, top-down; outcome, report and file of a plan."""
