"""Engine of secure two-party computation: secrets in, secrets out, without networks, files, tables or mining."""

__version__ = "0.1.0"
