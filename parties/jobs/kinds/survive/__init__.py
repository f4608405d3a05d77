"""Learn a survival curve, compare two groups, or estimate effects on the hazard."""
