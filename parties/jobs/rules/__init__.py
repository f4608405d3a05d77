"""Association rules of both parties' rows."""
