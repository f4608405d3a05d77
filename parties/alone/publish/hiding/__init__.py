"""Tables of counts and sums: which cells are hidden, or how all are rounded."""
