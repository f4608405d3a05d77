"""Two-party protocols: comparisons, majorities, logarithms, the joint ID3-delta tree and others."""
