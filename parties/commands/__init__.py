"""Commands of `smc`, one module for each topic."""
