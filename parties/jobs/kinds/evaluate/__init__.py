"""Judge scores and models on the rows of both parties, or whether tables differ."""
