"""Joint publication: one recoding for both parties' rows, and sealed or noisy tables of both parties' counts."""
