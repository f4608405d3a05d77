"""Messages by which two nodes agree within a session: checkpoint, commitments, tables, bits, openings."""
