"""A party as a service: proposed jobs, consent, sessions and records."""
