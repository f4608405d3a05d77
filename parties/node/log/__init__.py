"""A node is one log: events, the jobs that follow from them, and the transaction that writes both."""
