"""`smc align weights`: the weights of `smc align fuzzy`, estimated from your own table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from parties.base import console
from parties.base.report import Report
from parties.base.settings import merge
from parties.base.text import listed, parts_of
from parties.commands.rows import CONFIG, TABLE, chosen
from parties.commands.signature import argument, command, option
from parties.jobs.align.fuzzy import FuzzySettings, compared, comparisons_of, m_probabilities, rules_of
from parties.jobs.align.reading import columns_first, problems, read_table
from parties.jobs.align.settings import columns_of, forms_of
from protocols.alignment.estimation import LEAST, estimate
from protocols.alignment.weights import match_weight
from smc.errors import InputError

FEWEST = 100  # rows: shares of fewer describe single people


@command(
    "weights",
    "smc align weights mine.csv --comparisons name=exact:0.8:0.01+dice@0.8:0.1:0.01+else:0.1:0.98,born=exact:0.9:0.001"
    "+else:0.1:0.999,city=exact:0.7:0.05+else:0.3:0.95 --blocking-rules born:year",
)
def weights_command(
    data: str = argument(metavar="DATA"),
    table: str | None = TABLE,
    comparisons: str = option("Comparisons of smc align fuzzy, each level with M:U to begin with.", "LIST"),
    blocking_rules: str = option("Blocking rules, as for smc align fuzzy.", "LIST"),
    forms: str | None = option("Normal form of columns, as for smc align exact  [as they are written]", "LIST"),
    config_file: Path | None = CONFIG,
) -> Report:
    """Estimate the m and u probabilities of smc align fuzzy from your own rows. Nothing is sent.

    u comes from random pairs of rows, m from duplicates in your table. Without enough duplicates your M stays. The
    numbers tell how often values repeat in your table: read them before you show them to the peer.
    """
    given = {"comparisons": parts_of(comparisons), "blocking_rules": parts_of(blocking_rules)}
    settings = merge(FuzzySettings(), {**given, "forms": None if forms is None else parts_of(forms)})
    texts, names = settings.comparisons or (), settings.blocking_rules or ()
    of, rules, first = comparisons_of(texts), rules_of(names), [m_probabilities(text) for text in texts]
    place, columns = chosen(data, table, config_file), compared(of, rules)
    with console.progress("estimating"):
        with columns_first(place, columns):
            normal_forms = forms_of(settings, columns_of(columns))
        found = read_table(place, columns, normal_forms)
        if found.rows < FEWEST or (reasons := problems(found, found.rows)):
            few = f"{found.rows:,} rows, fewer than {FEWEST}: their shares would describe single people"
            raise InputError(f"{data}: {few if found.rows < FEWEST else reasons[0]}")
        normal, order = dict(zip(found.columns, found.normal, strict=True)), list(of)
        made = estimate(
            [*of.values()],
            [normal[name] for name in of],
            [(one.blocks(normal), {order.index(name) for name, _ in one.parts if name in of}) for one in rules],
            [np.array([*levels.values()]) for levels in first],
        )
    levels: list[dict[str, Any]] = [
        {"column": name, "level": level, "m": float(f"{m:.2g}"), "u": float(f"{u:.2g}"), "estimated": own is not None}
        for name, given_m, own, us in zip(of, first, made.m, made.u, strict=True)
        for level, m, u in zip(given_m, own or given_m.values(), us, strict=True)
    ]
    weights = ["+".join("{level}:{m:g}:{u:g}".format(**one) for one in levels if one["column"] == name) for name in of]
    report = Report(
        {
            "rows": found.rows,
            "duplicates": round(made.duplicates),
            "levels": [one | {"weight": round(match_weight(one["m"], one["u"]), 2)} for one in levels],
            "comparisons": [f"{name}={text}" for name, text in zip(of, weights, strict=True)],
        }
    )
    report.facts({"rows": "{rows:,}", "duplicates, about": "{duplicates:,}"})
    line = {"column": "{column}", "level": "{level}", "m": ">{m}", "u": ">{u}", "weight": ">{weight}"}
    report.table(line, report.data["levels"])
    report.line(f"--comparisons {','.join(report.data['comparisons'])}")
    if kept := [name for name, own in zip(of, made.m, strict=True) if own is None]:
        report.line(f"m of {listed(kept)} is as you gave it: no rule finds {LEAST} duplicates in your table")
    report.line("without noise, u tells how often values repeat in your table; an estimated m, how duplicates differ")
    return report
