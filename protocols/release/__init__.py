"""Numbers and decisions opened with noise that is made inside the protocol: nobody knows it, nobody can bias it."""
