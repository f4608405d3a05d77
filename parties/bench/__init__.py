"""Costs of protocols: measured between two processes over emulated links, and compared with the forecast."""
