"""k-means of diffprivlib on points of [-1, 1]^d, for benchmarks.clusters: run by the Python that has it.

python diffprivlib_kmeans.py POINTS.npy CLUSTERS EPSILON SEED...        prints the centroids of each seed as JSON
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np

warnings.filterwarnings("ignore")


def main(points: str, clusters: str, epsilon: str, *seeds: str) -> None:
    """One centre of all data, who sees every row."""
    from diffprivlib.models import KMeans

    rows = np.load(points)
    found = []
    for seed in seeds:
        model = KMeans(int(clusters), epsilon=float(epsilon), bounds=(-1, 1), random_state=int(seed)).fit(rows)
        found.append(model.cluster_centers_.tolist())
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
