"""Garbled circuits: the garbler and the evaluator."""
