"""Additive shares modulo 2^64: conversions from and to XOR shares, products from correlated OT, inner products."""

from smc.arithmetic.inner import InnerProducts
from smc.arithmetic.shares import bits_to_shares, product

__all__ = ["InnerProducts", "bits_to_shares", "product"]
