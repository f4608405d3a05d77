"""A party as a service: jobs that the peer or the operator propose, consent, sessions, records."""
