"""Decision trees by ID3: exact or with noise, with rules for leaves."""
