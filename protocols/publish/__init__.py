"""Joint decisions of two parties before each publishes its own rows."""
