"""One recoding for both parties' rows; tables of counts of both, sealed or with noise."""
