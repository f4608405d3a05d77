"""Rows like those of both parties, made from noisy marginals."""
