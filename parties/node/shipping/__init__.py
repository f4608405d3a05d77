"""Shipping of audit log entries as they are written, to places out of reach of a writer of the database."""
