"""Methods of disclosure control: values of rows changed, exchanged, hidden or left out; utility and risk."""
