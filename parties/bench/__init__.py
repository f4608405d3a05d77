"""What protocols cost: measured between two processes, over emulated links, beside the forecast."""
