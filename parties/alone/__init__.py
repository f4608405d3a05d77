"""Work of a party on its own rows without a peer. No module here imports a link, a job or a node."""
