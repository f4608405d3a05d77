"""The wire schema and the module generated from it (regenerate with `make proto`)."""
