"""Statistics of a mechanism's privacy, from samples and from exact laws."""
