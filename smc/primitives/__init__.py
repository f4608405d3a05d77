"""Basic tools of the protocols: a PRG and bit matrices."""
