"""The start of a node: checks of its state, and the charge for a rollback."""
