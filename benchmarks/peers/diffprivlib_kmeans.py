"""k-means of diffprivlib on points of [-1, 1]^d, for benchmarks.clusters: run by the Python that has it.

Each line that it reads is JSON, [points.npy, clusters, epsilon, seeds]; it answers with the centroids of each seed.
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np

warnings.filterwarnings("ignore")


def main() -> None:
    """Answer all lines. The library sees every row in one place."""
    from diffprivlib.models import KMeans

    for line in sys.stdin:
        points, clusters, epsilon, seeds = json.loads(line)
        rows, found = np.load(points), []
        for seed in seeds:
            model = KMeans(clusters, epsilon=epsilon, bounds=(-1, 1), random_state=seed).fit(rows)
            found.append(model.cluster_centers_.tolist())
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
