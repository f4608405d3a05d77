"""Garbled circuits: garbler and evaluator."""
