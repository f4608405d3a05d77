"""The engine: secrets in, secrets out. It knows nothing of networks, files, tables or mining."""

__version__ = "0.1.0"
