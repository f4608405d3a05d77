"""The commands of `smc`, one module a topic."""
