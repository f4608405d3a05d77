"""Decisions about which events happen to jobs: by the operator, by the peer's statements, and by sessions."""
