"""What can be said of published numbers, and of the mechanisms that publish them, by arithmetic alone."""
