"""Learn how long the rows of both parties survive, or whether arms differ."""
