"""Learn a survival curve, or compare two arms."""
