"""Questions that rows are asked in studies: tests, an order of columns, quantiles, a scorecard."""
