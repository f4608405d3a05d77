"""Models that jobs produce and that classify rows: decision trees, naive Bayes, linear classifiers."""
