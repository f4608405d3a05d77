"""Questions of statistical studies: tests, order of columns, quantiles and scorecards."""
