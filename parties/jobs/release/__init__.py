"""Small questions with numeric answers: each a kind of job in its own file, and their common parts.

A joint number is opened with noise unless both parties ask for the exact number (`exact`).
"""
