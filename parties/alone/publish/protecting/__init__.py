"""Statistical disclosure control of rows: values changed, exchanged, hidden or left out; utility and risk."""
