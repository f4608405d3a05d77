"""Models judged on the rows of both parties: a noisy report, and exact decisions of a bit each."""
