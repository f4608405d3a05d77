"""Test differences and dependences for significance."""
