"""Synthetic rows like those of both parties, made from noisy marginals."""
