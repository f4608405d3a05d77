"""Learn a linear classifier, with a peer or from your own rows."""
