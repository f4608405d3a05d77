"""The start of a node: checks of its state, and what a rollback costs."""
