"""Attacks on one's own publications, as their readers could make them: nothing leaves this machine."""
