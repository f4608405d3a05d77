"""Basic tools of every room: texts, files, settings, addresses, output; imports no other room."""
