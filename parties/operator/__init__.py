"""The operator's interface to a node, and a client for other processes."""
