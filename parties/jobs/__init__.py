"""What can be computed, and how it is run: settings, specifications, forecasts, sessions."""
