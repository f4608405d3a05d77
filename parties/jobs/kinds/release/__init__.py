"""Ask for numbers and models with noise: differential privacy."""
