"""Entries of the audit log handed on as they are written, to where whoever reads the database cannot take them back."""
