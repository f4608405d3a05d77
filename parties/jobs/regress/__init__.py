"""Linear classifiers with noise, from both parties' rows: kind of job, methods and result."""
