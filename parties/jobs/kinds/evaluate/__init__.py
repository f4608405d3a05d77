"""Judge scores and models, or compare the two tables."""
