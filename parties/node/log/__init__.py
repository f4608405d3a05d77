"""The log of a node: events, the jobs that follow from them, and the transaction that writes both."""
