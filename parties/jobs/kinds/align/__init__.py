"""Find the rows of two tables that are about one person."""
