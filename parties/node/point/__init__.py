"""An outside decision point: its requests, transport and answers (XACML 3.0 in JSON)."""
