"""Gradient-boosted trees of both parties' rows: kind of job, growth of trees, and result."""
