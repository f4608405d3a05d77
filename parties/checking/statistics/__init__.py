"""What samples and exact laws tell of a mechanism's privacy."""
