"""The operator's web page and JSON API, on loopback."""
