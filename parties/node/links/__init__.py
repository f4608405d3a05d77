"""The way to each peer: the standing link, the sessions of jobs, and the workers that run them."""
