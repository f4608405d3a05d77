"""Which events happen: by what the operator decides, the peer says, or a session does."""
