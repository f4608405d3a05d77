"""A synthetic table beside a party's own rows: read from files, shown as text, as a picture and as a page."""
