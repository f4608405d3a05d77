"""Anonymise rows and tables for publication, yours or both parties'."""
