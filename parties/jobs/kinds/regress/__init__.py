"""Learn linear, logistic and Poisson models, with a peer or from your own rows."""
