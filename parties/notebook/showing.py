"""Display of a classifier in a notebook: the tree as a picture, or on matplotlib's axes."""

from __future__ import annotations

import base64
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from parties.models.trees.drawing import draw_svg
from parties.models.trees.tree import TreeFile


class Showing(BaseEstimator):  # type: ignore[misc]
    """Mixin of classifiers that draw their fitted tree."""

    tree_file_: TreeFile

    def plot(self, ax: Any = None) -> Any:
        """Draw the tree on matplotlib's axes, or on new ones, and return the axes.

        Raises:
            NotFittedError: The classifier has no tree yet.
        """
        check_is_fitted(self)
        from parties.notebook.plotting import plot  # matplotlib takes its time to load

        return plot(self.tree_file_.tree, ax)

    def _html_repr(self) -> str:
        """Return the HTML for a notebook: scikit-learn's box, and after fit the tree.

        The tree is an embedded SVG document, which you can move and zoom. Notebooks that remove it show an image.
        """
        svg = self._repr_svg_()
        if svg is None:
            return str(estimator_html_repr(self))
        tree = f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
        image = f'<img alt="decision tree" src="{tree}">'
        return f'{estimator_html_repr(self)}<object type="image/svg+xml" data="{tree}">{image}</object>'

    def _repr_svg_(self) -> str | None:
        """Return the tree as a picture, for programs that show pictures; None before fit."""
        if not self.__sklearn_is_fitted__():
            return None
        tree_file = self.tree_file_
        return draw_svg(tree_file.tree, tree_file.target, f"Decision tree for {tree_file.target}")
