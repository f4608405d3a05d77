"""Survival of both parties' rows: curves from one noisy histogram, and an exact test of two arms."""
