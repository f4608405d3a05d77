"""Statistical disclosure control of rows: methods that change, exchange, hide or leave out values, and what they cost."""
