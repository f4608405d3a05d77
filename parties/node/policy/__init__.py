"""Which jobs are permitted or denied without asking the operator: rules, the request, the decision."""
