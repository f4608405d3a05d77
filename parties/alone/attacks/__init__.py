"""Attacks that readers could make on this party's publications, simulated by the party to measure disclosure."""
