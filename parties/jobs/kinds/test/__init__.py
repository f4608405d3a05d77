"""Ask whether a difference or a dependence is more than chance."""
