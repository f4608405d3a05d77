"""Linear classifiers of a party's own rows: features by public rules, losses, exact minimisers, and private noise."""
