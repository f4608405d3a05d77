"""What an operator sees of a node and may ask of it: the interface, and a client for other processes."""
