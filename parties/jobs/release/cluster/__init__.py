"""Clusters of both parties' rows: k-means by noisy sums or on a noisy grid."""
