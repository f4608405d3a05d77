"""What jobs bring and rows are classified with: decision trees, a naive Bayes, a linear classifier."""
