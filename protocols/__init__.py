"""Protocols of two parties: comparisons, majorities, logarithms and the joint ID3-delta tree."""
