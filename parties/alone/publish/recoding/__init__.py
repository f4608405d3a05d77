"""Which recoding: searches in lattices, Mondrian, top-down; a plan's outcome, its report and its file."""
