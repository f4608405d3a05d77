"""More than two holders of rows: the list of them at a party that computes, and the part of a holder.

holders = Holders(["anna.crt", "bert.crt"], at="0.0.0.0:7100")
JointID3Classifier("schema.toml", peer="party.toml", holders=holders).fit(X, y)     at both that compute

Contributor("clinic/party.toml").contribute(lambda terms: ask_my_board(terms))      at Anna's and at Bert's
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from parties.base.text import listed
from parties.jobs.contributing import contribute, ways_of
from parties.jobs.holders import Givers, givers_in
from parties.jobs.tabular import TabularSettings, with_holders
from parties.link.settings import LinkSettings
from parties.notebook.fitting import Log
from parties.party_file import load
from smc.errors import InputError

AnySettings = TypeVar("AnySettings", bound=TabularSettings)


@dataclass(frozen=True)
class Holders:
    """Further holders of rows, for the parameter `holders` of an estimator. Both parties that compute list the same.

    `max_rows` of the estimator bounds the rows of each.

    Args:
        certificates: Files of the holders' certificates.
        at: HOST:PORT to listen on for the holders; another port than that of the link.
        compute_only: True if neither of the two that compute has rows: `fit()` then takes none.
    """

    certificates: Sequence[Path | str]
    at: str
    compute_only: bool = False

    def joined(self, settings: AnySettings, link: LinkSettings | None) -> tuple[AnySettings, Givers]:
        """Return settings whose row bound is half of the rows of all parties, and the holders.

        Args:
            settings: Settings with the bound on the rows of each party.
            link: Link to the other party that computes.

        Raises:
            InputError: There is no link, a file is no certificate, or a holder is listed twice or computes.
        """
        if link is None:
            raise InputError("holders: the other party that computes is missing: give peer=, the path of a party.toml")
        rows = getattr(settings, "max_rows", 0)
        givers = givers_in([str(file) for file in self.certificates], self.at, rows, self.compute_only, link)
        return with_holders(settings, givers.number), givers  # type: ignore[return-value]


class Contributor:
    """A holder of rows, which gives shares of its numbers to two parties that compute. It learns no answer.

    Args:
        config: `party.toml` with the tables `[link]`, `[contribute]` and `[tables.NAME]`.
        table: Name of the table, if there are several.
    """

    def __init__(self, config: Path | str, table: str | None = None) -> None:
        self.config, self.table = config, table

    def contribute(self, consent: Callable[[list[str]], bool]) -> int:
        """Take part in one job, until it ends; return the number of questions that were answered.

        Args:
            consent: Called with the terms of the job, a line each; nothing is given unless it returns True.

        Raises:
            InputError: A setting is missing, the job does not fit the table, or there is no consent.
            LinkError: A party that computes cannot be reached, or is lost.
        """
        file = load(Path(self.config))
        names = [*file.tables]
        if self.table is None and len(names) != 1:
            raise InputError(f"table: name one of {listed(names)}" if names else f"{self.config}: has no [tables.NAME]")
        name = self.table or names[0]
        if name not in file.tables:
            raise InputError(f"table: there is no {name!r} in {self.config}; there are {listed(names)}")

        def asked(lines: list[str], parameters: object) -> None:
            if not consent(lines):
                raise InputError("you have not consented, so nothing was sent")

        return contribute(ways_of(file.link, file.contribute), file.tables[name], asked, Log())
