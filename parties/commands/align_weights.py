"""`smc align weights`: the weights of `smc align fuzzy`, estimated from your own table."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from parties.base import console
from parties.base.report import Report
from parties.base.settings import merge
from parties.base.text import listed, parts_of, quoted
from parties.commands.rows import CONFIG, TABLE, chosen
from parties.commands.signature import argument, command, option
from parties.jobs.align.fuzzy import FuzzySettings, compared, comparisons_of, m_probabilities, rules_of
from parties.jobs.align.reading import check_rows, forms_in, problems, read_table
from protocols.alignment.estimation import LEAST, estimate
from protocols.alignment.weights import match_weight


@command(
    "weights",
    "smc align weights mine.csv --comparisons name=exact:0.8:0.01+dice@0.8:0.1:0.01+else:0.1:0.98,born=exact:0.9:0.001"
    "+else:0.1:0.999,city=exact:0.7:0.05+else:0.3:0.95 --blocking-rules name:soundex,born",
)
def weights_command(
    data: str = argument(metavar="DATA"),
    table: str | None = TABLE,
    comparisons: str = option("Comparisons of smc align fuzzy, each level with M:U to begin with.", "LIST"),
    blocking_rules: str = option("Blocking rules, as for smc align fuzzy. Blocks must be small.", "LIST"),
    forms: str | None = option("Normal form of columns, as for smc align exact  [as they are written]", "LIST"),
    config_file: Path | None = CONFIG,
) -> Report:
    """Estimate the m and u probabilities of smc align fuzzy from your own rows. Nothing is sent.

    u comes from random pairs of rows, m from duplicates in your table. Without enough duplicates your M stays. The
    numbers tell how often values repeat in your table: read them before you show them to the peer.
    """
    given = {"comparisons": parts_of(comparisons), "blocking_rules": parts_of(blocking_rules)}
    settings = merge(FuzzySettings(), {**given, "forms": None if forms is None else parts_of(forms)})
    texts, rules = settings.comparisons or (), rules_of(settings.blocking_rules or ())
    of, first = comparisons_of(texts), [m_probabilities(text) for text in texts]
    place, columns = chosen(data, table, config_file, is_own=True), compared(of, rules)
    with console.progress("estimating"):
        found = read_table(place, columns, forms_in(place, settings, columns))
        check_rows(found, place, problems(found, found.rows))
        normal = dict(zip(found.columns, found.normal, strict=True))
        blocks = [(rule.blocks(normal), {name for name, _ in rule.parts}) for rule in rules]
        made = estimate(of, normal, blocks, [np.array([*levels.values()]) for levels in first])
    levels: list[dict[str, Any]] = [
        {"column": name, "level": level, "m": m, "u": u, "weight": round(match_weight(m, u), 2), "estimated": is_own}
        for name, given_m, ms, us, is_own in zip(of, first, made.m, made.u, made.is_own, strict=True)
        for level, m, u in zip(given_m, ms, us, strict=True)
    ]
    text = "{level}:{m:g}:{u:g}".format
    shown = [f"{name}={'+'.join(text(**one) for one in levels if one['column'] == name)}" for name in of]
    report = Report({"rows": found.rows, "duplicates": round(made.duplicates), "levels": levels, "comparisons": shown})
    report.facts({"rows": "{rows:,}", "duplicates, about": "{duplicates:,}"})
    line = {"column": "{column}", "level": "{level}", "m": ">{m}", "u": ">{u}", "weight": ">{weight}"}
    report.table(line, levels)
    report.line(f"--comparisons {','.join(shown)}")
    if kept := [name for name, is_own in zip(of, made.is_own, strict=True) if not is_own]:
        pairs = [sum(n * (n - 1) // 2 for block, n in Counter(rows).items() if block is not None) for rows, _ in blocks]
        why = f"no rule finds {LEAST} duplicates in your table"
        if made.duplicates:  # a rule that finds them estimates all columns but its own
            why = "the rules that find duplicates leave their own columns out; add a rule of other columns"
        elif max(pairs):
            broad = quoted((settings.blocking_rules or ())[pairs.index(max(pairs))])
            why += f"; name rules with small blocks, the largest are of {broad}: {max(pairs):,} pairs of rows"
        report.line(f"m of {listed(kept)} is as you gave it: {why}")
    report.line("without noise, u tells how often values repeat in your table; an estimated m, how duplicates differ")
    return report
