"""Linear models: features by public rules, own rows, losses, exact minimisers, and second moments."""
