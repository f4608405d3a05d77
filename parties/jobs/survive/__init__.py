"""Survival of the rows of both parties: curves from one noisy histogram, and an exact test of two arms."""
