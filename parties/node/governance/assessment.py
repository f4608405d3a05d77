"""A draft of the data protection impact assessment (GDPR art. 35(7)), with the measured risks.

The measurements come from log, budgets and reports of publications. Only people can say how grave a risk is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from parties.node.budget import same_rows, shown
from parties.node.budget.account import Account
from parties.node.governance.activities import Job, by_purpose
from parties.node.governance.processing import Evidence
from smc.errors import InputError

OPEN = (
    "whether the processing is necessary for each purpose, and whether less would do (art. 35(7)(b))",
    "how grave each risk is for the people, and which are acceptable (art. 35(7)(c))",
    "what else is done against the risks, by whom and until when (art. 35(7)(d))",
    "the views of the people or of those who speak for them (art. 35(9))",
    "the advice of the data protection officer (art. 35(2))",
    "whether the authority has to be asked first: where a high risk remains (art. 36)",
)


def assess(evidence: Evidence, reports: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the draft of the assessment as JSON values: budgets, results, purposes and publications.

    Args:
        evidence: The sources of the documents.
        reports: Reports of `smc publish`, by file name.
    """
    return {
        "budgets": list(_budgets(evidence)),
        "results": list(_results(evidence)),
        "purposes": [
            {"purpose": purpose, "table": table, "jobs": len(jobs)}
            for (purpose, table, _), jobs in by_purpose(evidence.log).items()
            if not _is_declared(evidence, purpose, table)
        ],
        "publications": [_publication(name, report) for name, report in reports.items()],
        "open": list(OPEN),
    }


def _budgets(evidence: Evidence) -> Iterator[dict[str, Any]]:
    """Yield the privacy loss of noisy results by table: epsilon, and the largest certainty that it allows."""
    tables = evidence.file.tables
    groups = same_rows.groups(tables, evidence.log.starts)
    charged = {charge.table for charge in evidence.log.charges}
    for table in [*tables, *sorted(charged.difference(tables, *(groups[name] for name in tables)))]:
        settings, at = tables.get(table), datetime.fromisoformat(evidence.at)
        names = groups.get(table, {table})
        charges = [replace(charge, table=table) for charge in evidence.log.charges if charge.table in names]
        if settings is None:
            account = Account(table, None, charges, at)
        else:
            account = Account(table, settings.budget, charges, at, settings.max_rows, person=settings.person or "")
        budget = shown.table_budget(account)
        pure = None if budget.spent is None else account.loss.is_pure and budget.spent == budget.now.epsilon
        yield {
            "table": table,
            "spent": budget.spent,
            "budget": budget.budget,
            "left": budget.left,
            "per": budget.per,
            "delta": 0.0 if pure else budget.fixed_delta,
            "jobs": len(account.counted),
            "surest": None if budget.spent is None else surest(budget.spent),
        }


def surest(epsilon: float) -> float:
    """Return the largest probability that a row is in the table, for a reader who assigned 1/2 before the results."""
    return 1 / (1 + math.exp(-epsilon))


def _results(evidence: Evidence) -> Iterator[dict[str, Any]]:
    """Yield the possible disclosure of results without noise, by purpose, table and kind of job."""
    for (purpose, table, kind), jobs in by_purpose(evidence.log).items():
        where = {"purpose": purpose, "table": table, "kind": kind}
        exact = [job for job in jobs if job.protection == "exact"]
        if exact:
            yield where | {"risk": "exact", "jobs": len(exact), "tells": exact[0].proposed["exact"]}
        bare = [job for job in jobs if job.protection == "none"]
        if bare:
            opened = sum(job.opened.total() for job in bare)
            tells = "decisions without noise or rule: one may depend on a single row"
            yield where | {"risk": "none", "jobs": len(bare), "opened": opened, "tells": tells}
        if ruled := [job for job in jobs if job.protection == "rules"]:
            yield where | {"risk": "rules", "jobs": len(ruled), **_weakest(ruled)}


def _weakest(jobs: list[Job]) -> dict[str, Any]:
    """Return the weakest value of each rule; `linked` is 1 / k, the chance to guess a row of a leaf."""
    parameters = [job.proposed["parameters"] for job in jobs]
    k = min(rules.get("k", 1) for rules in parameters)
    others = {"l": min(rules.get("l", 1) for rules in parameters), "t": max(rules.get("t", 1) for rules in parameters)}
    public = any(rules.get("against") == "public" for rules in parameters)
    tells = f"a row is one of at least {k:,} of a leaf" if k > 1 else "a leaf may describe a single row"
    if public and k > 1:
        tells += "; of both parties together: the peer can subtract its own"
    return {"k": k, **others, "against": "public" if public else "peer", "linked": 1 / k, "tells": tells}


def _is_declared(evidence: Evidence, purpose: str, table: str) -> bool:
    settings = evidence.file.tables.get(table)
    return settings is not None and settings.rights is not None and purpose in settings.rights.purposes


def _publication(name: str, report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the risks in a report of `smc publish`. Raise InputError if it is not one."""
    try:
        linkage, sensitive = report["risks"]["linkage"], report["risks"]["sensitive"]
        risks: dict[str, Any] = {
            "report": name,
            "failed": [model["model"] for model in report["models"] if not model["holds"]],
            "models": [model["model"] for model in report["models"]],
            "prosecutor": float(linkage["prosecutor_highest"]),
            "marketer": float(linkage["marketer"]),
            "unique_rows": int(linkage["unique_rows"]),
            "sensitive": {
                column: {
                    "homogeneous_rows": float(attacks["homogeneity"]["rows_share"]),
                    "highest_lift": float(attacks["skewness"]["highest_lift"]),
                }
                for column, attacks in sensitive.items()
            },
        }
        if membership := report["risks"].get("membership"):
            risks["membership"] = {"least": float(membership["least"]), "most": float(membership["most"])}
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"--report: {name} is no report of smc publish") from None
    return risks
