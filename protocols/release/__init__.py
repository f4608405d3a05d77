"""Numbers and decisions opened with noise from inside the protocol: neither party knows or can bias the noise."""
