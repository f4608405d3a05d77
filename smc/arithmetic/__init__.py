"""Additive shares modulo 2^64: conversions from and to XOR shares, products from correlated OT."""

from smc.arithmetic.shares import bits_to_shares, product

__all__ = ["bits_to_shares", "product"]
