"""Base class of comparisons of two groups: estimates with intervals, from noisy sums by group and stratum.

Every estimate is a smooth function f of the opened numbers x. Chance gives it a variance that each kind knows. Noise of
variance s^2 on each number adds the sum of s^2 (df / dx)^2 (delta method). So intervals count the sample and the noise.
They are those of a normal law, for ratios of the logarithm.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from parties.base.settings import required
from parties.base.text import quoted
from parties.jobs.kind import Document
from parties.jobs.release import reading
from parties.jobs.release.drawing import LONGEST_LABEL, MOST, bars_svg
from parties.jobs.release.kind import Release
from parties.jobs.release.noise import WIDE
from parties.jobs.release.postprocessing import short
from parties.jobs.release.presenting import INTERVAL, about, aligned, amount, shown
from parties.jobs.release.question import Part, Question, own_vector, sums
from parties.jobs.release.settings import ApartSettings, DrawnSettings, names_in
from parties.jobs.settings import Columns, Name, check_names, public, public_parameters
from parties.tables.delimited import MISSING
from parties.tables.schema import Schema
from protocols.arrays import Floats, Numbers
from protocols.counts import Rows
from smc.errors import InputError

Formula = Callable[[NDArray[Any]], Any]  # of the numbers, [measures, strata, groups]
MOST_STRATA = 500
STEP = 1e-20  # imaginary step of a derivative
COUNTED = "count the sample and the noise"
DROWNED = "an estimate without value has too few rows for the noise, or none: join groups, or give more epsilon"


class ComparisonSettings(DrawnSettings, ApartSettings):
    """Settings of a comparison of two groups."""

    by: Name | None = public(
        None, "Groups", "Column of two groups; the first one in the schema is the reference", column=True
    )


class StratifiedSettings(ComparisonSettings):
    """Settings of a comparison that may be adjusted for other columns."""

    strata: Columns | None = public(
        None, "Strata", "Columns to adjust for, by the method of Mantel and Haenszel", none="none", column=True
    )


@dataclass(frozen=True)
class Sums:
    """Numbers x of all strata and both groups, float64[measures, strata, 2], and the variances of their noise."""

    x: Floats
    noise: Floats

    def only(self, strata: NDArray[np.bool_]) -> Sums:
        """Return the sums of some strata."""
        return Sums(self.x[:, strata], self.noise[:, strata])

    def times(self, factor: Floats | float) -> Sums:
        """Return the sums in other units."""
        return Sums(self.x * factor, self.noise * factor**2)

    def over_strata(self) -> Sums:
        """Return the sums of all strata together, as those of one stratum."""
        return Sums(self.x.sum(axis=1, keepdims=True), self.noise.sum(axis=1, keepdims=True))

    def gradient(self, f: Formula) -> Floats:
        """Return the derivatives of a function by all numbers, exact but for rounding, by complex steps."""
        found = np.zeros(self.x.shape)
        for place in np.ndindex(*self.x.shape):
            moved = self.x.astype(np.complex128)
            moved[place] += 1j * STEP
            found[place] = np.imag(f(moved)) / STEP
        return found

    def noise_variance(self, f: Formula) -> float:
        """Return the variance that noise gives to a function."""
        return float((self.noise * self.gradient(f) ** 2).sum())

    def is_above_noise(self, f: Formula) -> bool:
        """Return whether a function is above 0, and above its noise."""
        from protocols.release.likelihoods import ENOUGH

        value = float(f(self.x))
        return math.isfinite(value) and value > 0 and value > ENOUGH * math.sqrt(self.noise_variance(f))

    def estimate(
        self,
        name: str,
        f: Formula,
        chance: Callable[[Floats], float] | float,
        needs: Sequence[Formula] = (),
        *,
        is_ratio: bool = False,
        tests: bool = True,
    ) -> dict[str, Any]:
        """Return an estimate with its error, its interval, and the p-value of the value 0, or of the ratio 1.

        Args:
            name: Name of the estimate.
            f: The estimate; of a ratio, its logarithm.
            chance: Variance by chance; or a function from the derivatives to it.
            needs: Functions that must be above their noise, such as divisors.
            is_ratio: Whether f is the logarithm of a ratio; the error is that of the logarithm.
            tests: Whether there is a p-value.

        Returns:
            The fields; numbers are None if a need is not met.
        """
        from protocols.quantiles import chi2_tail

        keys = ("value", "error", "low", "high", *(["p"] if tests else []))
        if not all(map(self.is_above_noise, needs)):
            return {"of": name, **dict.fromkeys(keys)}
        gradient, value = self.gradient(f), float(f(self.x))
        by_chance = chance(gradient) if callable(chance) else chance
        error = math.sqrt(max(by_chance + float((self.noise * gradient**2).sum()), 0.0))
        ends = value, value - WIDE * error, value + WIDE * error
        value, low, high = (math.exp(min(end, 700.0)) for end in ends) if is_ratio else ends
        p = chi2_tail((ends[0] / error) ** 2, 1) if error else float(not ends[0])
        numbers = [value, error, low, high, *([p] if tests else [])]
        return {"of": name, **{key: short(number) for key, number in zip(keys, numbers, strict=True)}}

    def common_ratio(self, name: str, products: Callable[[Any], tuple[Any, Any]], chance: float) -> dict[str, Any]:
        """Return the estimate of the ratio that all strata have in common (Mantel and Haenszel).

        Args:
            name: Name of the estimate.
            products: Function to the parts of each stratum in the ratio's numerator and denominator.
            chance: Variance of the ratio's logarithm by chance.
        """

        def above(x: Any) -> Any:
            return products(x)[0].sum()

        def below(x: Any) -> Any:
            return products(x)[1].sum()

        return self.estimate(name, lambda x: np.log(above(x) / below(x)), chance, [above, below], is_ratio=True)


def draw_svg(document: Document) -> str:
    """Return the estimates that have a value as an SVG document."""
    bars = [line for line in document["numbers"] if line["value"] is not None][:MOST]
    by, (one, other) = document["by"], document["groups"]
    title = f"{shown(by, LONGEST_LABEL)} = {shown(other, LONGEST_LABEL)} beside {shown(one, LONGEST_LABEL)}"
    notes = [*about(document), f"{INTERVAL} intervals, which {COUNTED}"]
    return bars_svg(title, notes, [shown(line["of"], LONGEST_LABEL) for line in bars], bars)


class Comparison(Release):
    """A comparison of two groups of rows, by sums over the rows of each group in each stratum."""

    Settings: ClassVar[type[ComparisonSettings]] = ComparisonSettings
    draws = staticmethod(draw_svg)
    settings: Any
    streamed = True
    measures: ClassVar[int]  # number of sums for each group in each stratum
    model: ClassVar[str] = ""  # assumption, part of a line

    @abstractmethod
    def parts(self, cells: int) -> list[Part]:
        """Return the parts of the opened numbers: `cells` numbers for each measure."""

    @abstractmethod
    def of_rows(self, codes: Mapping[str, Numbers]) -> tuple[Numbers, NDArray[np.bool_]]:
        """Return the measures of rows, int64[measures, lines], and whether each row has them, bool[lines].

        Args:
            codes: Indices of each column's selected values.
        """

    @abstractmethod
    def estimates(self, known: Sums) -> Document:
        """Return the fields of the result: `numbers`, a list of estimates, and others."""

    @property
    def unit(self) -> Fraction:
        """Unit of the integers that the first measure opens; a result states its noise in it."""
        return Fraction(1)

    @property
    @abstractmethod
    def learnt(self) -> str:
        """Description of the compared figures, part of a sentence."""

    @classmethod
    @override
    def canonical(cls, settings: Any, schema: Schema) -> Self:
        """Return the task. Raise InputError if a column is named twice, or is not in the schema."""
        for parameter in public_parameters(cls.Settings):
            if parameter.column:
                check_names(parameter.key, names_in(getattr(settings, parameter.key)), schema.attributes)
        names = cls.named(settings)
        if twice := [name for name in names if names.count(name) > 1]:
            raise InputError(f"by: the groups, strata and numbers are different columns; name {quoted(twice[0])} once")
        return super().canonical(settings, schema)

    @property
    def strata(self) -> tuple[str, ...]:
        """Columns of the strata."""
        return getattr(self.settings, "strata", None) or ()

    def present(self, column: str) -> list[str]:
        """Return the selected values of a column that are not missing."""
        return [value for value in self.where.values(column, self.schema) if value != MISSING]

    @cached_property
    def groups(self) -> list[str]:
        """The two groups. Raise InputError if there are not two."""
        groups = self.present(self.settings.by)
        if len(groups) != 2:
            raise InputError(f"by: two groups are compared, not {len(groups)}: choose two with where")
        return groups

    @cached_property
    def strata_labels(self) -> list[dict[str, str]]:
        """Values of each stratum by column. Raise InputError if there are too many."""
        domains = [self.present(name) for name in self.strata]
        if (number := math.prod(map(len, domains))) > MOST_STRATA:
            raise InputError(f"strata: they are {number:,}, at most {MOST_STRATA} are compared: name fewer columns")
        return [dict(zip(self.strata, values, strict=True)) for values in product(*domains)]

    @override
    def ask(self) -> Question:
        required(self.settings.by, f"{self.name}.by")
        cells = 2 * len(self.strata_labels)
        adjusted = f", adjusted for {' and '.join(self.strata)}" if self.strata else ""
        one, other = self.groups
        self.check_joint_table()
        return sums(
            f"{self.learnt} of the rows of both tables{self.where.words()}, in {self.settings.by} = {quoted(other)} "
            f"beside {quoted(one)}{adjusted}: {cells * self.measures:,} sums",
            self.parts(cells),
            self._own,
            self._shown,
            self.unit,
            subject=self.settings.by,
            target=getattr(self.settings, "column", None) or self.settings.target,
        )

    def _own(self, rows: Rows) -> Numbers:
        """Return this party's sums, measure by measure, int64[measures * strata * 2]."""
        totals = np.zeros((self.measures, 2 * len(self.strata_labels)), dtype=np.int64)
        axes = (*self.strata, self.settings.by)
        places = {name: _places(self.where.values(name, self.schema), self.present(name)) for name in axes}
        for codes, counts in reading.pieces(rows, self.schema, self.target, self.where, self.named(self.settings)):
            numbers, is_counted = self.of_rows(codes)
            cell = np.zeros(len(counts), dtype=np.int64)
            for name in axes:
                place = places[name][codes[name]]
                is_counted = is_counted & (place >= 0)
                cell = cell * len(self.present(name)) + place
            for total, number in zip(totals, numbers * counts, strict=True):
                np.add.at(total, cell[is_counted], number[is_counted])
        return own_vector(totals)

    def _shown(self, state: Sequence[int]) -> Document:
        shape = (self.measures, len(self.strata_labels), 2)
        noise = [0.0 if part.noise is None else part.noise.variance for part in self.query.parts]
        known = Sums(
            np.array(state, dtype=np.float64).reshape(shape),
            np.repeat(noise, [part.numbers for part in self.query.parts]).reshape(shape),
        )
        about = {
            "by": self.settings.by,
            "groups": self.groups,
            **({"strata": list(self.strata)} if self.strata else {}),
        }
        return {**about, **self.estimates(known)}

    def stratified(self, known: Sums, weight: Formula) -> tuple[Sums, Document]:
        """Return the sums of the strata that are above their noise, and a field that names the others.

        Args:
            known: All sums.
            weight: Function to a stratum's number, from the sums of this stratum alone.
        """
        used = np.array([known.only(np.arange(len(self.strata_labels)) == k).is_above_noise(weight)
                         for k in range(len(self.strata_labels))])  # fmt: skip
        left_out = [label for label, is_used in zip(self.strata_labels, used.tolist(), strict=True) if not is_used]
        return known.only(used), {"left_out": left_out} if left_out else {}

    @classmethod
    @override
    def lines(cls, document: Document) -> list[str]:
        table = [["", "value", INTERVAL, "p"]]
        for line in document["numbers"]:
            interval = "-" if line["value"] is None else f"{amount(line['low'])} to {amount(line['high'])}"
            p = "" if line.get("p") is None else f"{line['p']:.3g}"
            table.append([shown(line["of"]), amount(line["value"]), interval, p])
        one, other = map(shown, document["groups"])
        text = [f"{shown(document['by'])} = {other} beside {one}, the reference", *aligned(table, 1)]
        if (test := document.get("test")) is not None:
            text.append(f"test of no association in the strata: chi-square {test['chi_square']:.4g}, p {test['p']:.3g}")
        if left_out := document.get("left_out"):
            names = "; ".join(", ".join(f"{k} = {v}" for k, v in label.items()) for label in left_out)
            text.append(shown(f"strata with too few rows for the noise are left out: {names}"))
        if any(line["value"] is None for line in document["numbers"]):
            text.append(DROWNED)
        return [*text, f"intervals {COUNTED}{cls.model}"]


def _places(values: Sequence[str], present: Sequence[str]) -> Numbers:
    """Return the position of each value among the present ones; -1 for a missing one."""
    return np.array([present.index(value) if value in present else -1 for value in values])
