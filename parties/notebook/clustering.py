"""Estimator of clusters in both parties' rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted
from typing_extensions import override

from parties.jobs.kinds.cluster import Cluster
from parties.notebook import coded
from parties.notebook.parameters import of_kind
from parties.notebook.study import JointStudy
from parties.tables.schema import Schema


@of_kind(Cluster)
class JointKMeans(ClusterMixin, JointStudy):  # type: ignore[misc]
    """Clusters of both parties' rows by k-means, with noise: `smc cluster`.

    After `fit` there is `cluster_centers_`, float64[k, columns], those with the most rows first. For other attributes
    see `JointStudy`.
    """

    kind = Cluster

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the index of the nearest centre of every row, int64[rows]; columns are scaled by their bounds."""
        check_is_fitted(self)
        cells = [column.cells for column in coded.columns_of(X, tuple(self.document_["columns"]))]
        low, high = np.array(self.document_["bounds"], dtype=np.float64).T
        points, centres = ((of - low) / (high - low) for of in (np.array(cells, float).T, self.cluster_centers_))
        nearest: NDArray[np.int64] = ((points.clip(0, 1)[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
        return nearest

    @override
    def _take(self, document: dict[str, Any], agreed: Schema | None) -> Self:
        self.cluster_centers_ = np.array([cluster["centroid"] for cluster in document["clusters"]], dtype=np.float64)
        return super()._take(document, agreed)
