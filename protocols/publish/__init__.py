"""What two parties decide together before each publishes its own rows."""
