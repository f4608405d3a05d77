"""An outside decision point: what it is asked, how, and what its answer is worth (XACML 3.0 in JSON)."""
