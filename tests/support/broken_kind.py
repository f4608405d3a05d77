"""What another package may do when it is loaded."""

raise ZeroDivisionError("two\nlines")
