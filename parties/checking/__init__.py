"""Mechanisms asked as black boxes whether they keep what they promise."""
