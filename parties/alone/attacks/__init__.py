"""Attacks that readers could make on one's own publications, run locally for assessment."""
