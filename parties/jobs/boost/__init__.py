"""Gradient-boosted trees of the rows of both parties: the kind of job, what trees are asked of, its result."""
