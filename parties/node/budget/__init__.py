"""What jobs have spent of a table's privacy budget, what it comes to, and whether one more job fits."""
