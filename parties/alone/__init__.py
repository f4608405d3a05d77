"""What a party does with its own rows and no peer: no module here imports a link, a job or a node."""
