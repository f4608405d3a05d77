"""Learn a linear classifier with noise, together or from one's own rows."""
