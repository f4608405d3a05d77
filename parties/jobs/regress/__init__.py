"""Linear classifiers with noise, from the rows of both parties: the kind of job, its methods, its result."""
