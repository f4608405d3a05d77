"""Rows made from counts of a few columns that were measured with noise: all of it is public, and costs no privacy."""
