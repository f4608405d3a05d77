"""The link to the peer: from HOST:PORT and certificates to a channel for sessions."""
