"""Matching of rows about one person at both parties: normal forms of keys, composite keys, Diffie-Hellman matching."""
