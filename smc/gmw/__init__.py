"""AND gates on XOR shares."""
