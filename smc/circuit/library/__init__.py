"""Circuits of standard functions."""

from smc.circuit.library.aes import aes128
from smc.circuit.library.octets import bits_to_octets, octets_to_bits
from smc.circuit.library.sha256 import initial_state, sha256_compression

__all__ = ["aes128", "bits_to_octets", "initial_state", "octets_to_bits", "sha256_compression"]
