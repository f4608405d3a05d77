"""The building blocks below every protocol: PRG, gate hash, bit matrices, numba kernels."""
