"""A task over a link: the choice of the engine, the run with the peer or alone, and its shards."""
