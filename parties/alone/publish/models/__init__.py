"""Privacy models of classes of rows, such as k-anonymity, l-diversity and t-closeness, and the risks of attack."""
