"""What every room uses: words, files, settings, addresses, what a terminal or a page shows; imports no other room."""
