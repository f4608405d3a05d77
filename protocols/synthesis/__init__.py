"""Synthetic rows from noisy counts of a few columns: post-processing of public counts, at no cost in privacy."""
