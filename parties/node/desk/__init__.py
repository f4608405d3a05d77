"""The operator's view of a node: its calls, views of jobs, and the register of releases."""
