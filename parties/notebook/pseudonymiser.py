"""Transformer that replaces identifiers in frames by pseudonyms, which only the holder of the keys can restore.

Pseudonymiser({"patient": "deterministic"}, master="master.key", keys="keys.db").fit_transform(frame)
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa
from sklearn.base import BaseEstimator, TransformerMixin

from parties.alone.publish import pseudonyms
from parties.alone.publish.keys.keyring import opened, read_master, user
from parties.alone.publish.settings import PublishPlan
from parties.base.settings import validated
from parties.base.text import quoted
from parties.notebook.parameters import REQUIRED, parameters
from parties.tables import categories
from parties.tables.delimited import MISSING
from smc.errors import InputError

PLACE = "the frame"


@parameters(
    PublishPlan, "columns", then=("master", "keys", "names", "subject", "drop"),
    fixed={**dict.fromkeys(("columns", "master", "keys"), REQUIRED), "drop": ()},
    described={
        "columns": 'by column "deterministic" (equal values, equal pseudonyms) or "randomised".',
        "master": "the file of the master key.",
        "keys": "the file of the keys that the master key wraps.",
        "names": "what a column's key is called, if not as the column; columns of one key can be joined.",
        "subject": "the column that tells whom a row is about, if subjects shall be forgotten one by one.",
        "drop": "columns that do not come out; all others do.",
    },
    joint=False,
)  # fmt: skip
class Pseudonymiser(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Writes pseudonyms for identifiers, under keys that `smc publish keys` made.

    `fit` learns nothing; it warns of deterministic columns with few values. Rows keep their order.
    """

    def fit(self, X: Any, y: Any = None) -> Pseudonymiser:
        """Check a frame's columns and the keys, and return the pseudonymiser itself; nothing is learnt.

        A deterministic column with few values gives a warning.

        Args:
            X: Data frame (pandas, Polars, Arrow) with the identifiers.
            y: Ignored; scikit-learn passes it.

        Raises:
            InputError: A column is missing, or the keys do not fit.
        """
        frame = categories.named_frame(X)
        with self._opened() as ring:
            plan = pseudonyms.Pseudonyms(self._plan(), ring)
            texts = dict(zip(plan.needed, _texts(frame, plan.needed), strict=True))
            for name in plan.countable:
                counts = Counter(text for text in texts[name].to_pylist() if text != MISSING)
                most = max(counts.values(), default=0)
                for warning in pseudonyms.few(name, len(counts), counts.total(), most):
                    warnings.warn(warning, stacklevel=2)
        return self

    def transform(self, X: Any) -> Any:
        """Write pseudonyms into a frame of its kind (pandas, Polars, Arrow); missing values stay missing.

        New keys of subjects are stored in the file of keys.

        Raises:
            InputError: A row has no subject, or the keys do not fit.
        """
        frame = categories.named_frame(X)
        with self._opened() as ring:
            plan = pseudonyms.Pseudonyms(self._plan(), ring)
            columns = plan.of(_texts(frame, plan.needed), PLACE)
            ring.commit()
        return _replaced(frame, columns, self.drop)

    def restore(self, X: Any, purpose: str) -> Any:
        """Return the frame with the values that its pseudonyms stand for; cells of forgotten subjects are missing.

        The keys' record gets your user name and the purpose.

        Args:
            X: Data frame (pandas, Polars, Arrow) with the pseudonyms.
            purpose: Reason to restore the values, for the record.

        Raises:
            InputError: The purpose is empty, a cell is not a pseudonym of its column's key, or the keys do not fit.
        """
        if not purpose.strip():
            raise InputError("purpose: is empty; give the reason, which is recorded")
        frame, keys = categories.named_frame(X), {name: (self.names or {}).get(name, name) for name in self.columns}
        with self._opened() as ring:
            columns = {}
            for name, column in zip(keys, _texts(frame, list(keys)), strict=True):
                where = f"{PLACE}, column {quoted(name)}"
                columns[name], _ = pseudonyms.restored(ring.versions(keys[name]), column, ring, where)
            fields = {"source": PLACE, "columns": keys, "rows": len(frame), "purpose": purpose, "by": user()}
            ring.record("pseudonyms restored", **fields)
            ring.commit()
        return _replaced(frame, columns, ())

    def _opened(self) -> Any:
        return opened(Path(self.keys), read_master(Path(self.master)))

    def _plan(self) -> PublishPlan:
        names = self.names or {}
        columns = {
            name: {"role": "identifier", "pseudonym": mode} | ({"key": names[name]} if name in names else {})
            for name, mode in self.columns.items()
        }
        return validated(PublishPlan, {"source": PLACE, "columns": columns, "subject": self.subject})


def _texts(frame: categories.Frame, names: Sequence[str]) -> list[pa.ChunkedArray]:
    needed = list(dict.fromkeys(names))
    columns = {
        column.name: pa.chunked_array([pa.array([categories.spell(cell) for cell in column.cells], pa.string())])
        for column in categories.frame_columns(categories.select(frame, needed), needed, needed)
    }
    return [columns[name] for name in names]


def _replaced(frame: categories.Frame, pseudonymised: Mapping[str, pa.Array], drop: Sequence[str]) -> Any:
    columns = [
        nw.new_series(name, column.to_pylist(), nw.String(), backend=frame.implementation)
        for name, column in pseudonymised.items()
    ]
    rest = nw.maybe_reset_index(frame[[name for name in frame.columns if name not in drop]])
    return rest.with_columns(*columns).to_native()
