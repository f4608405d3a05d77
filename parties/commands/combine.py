"""`smc combine`: one model from several models that their holders learned alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from parties.base import files
from parties.base.file_kinds import BAYES, CLUSTERS, FOREST, LINEAR, RULES, TREE, kind_of
from parties.base.report import Report
from parties.commands.options import FILE
from parties.commands.outputs import FORCE, check_new
from parties.commands.signature import argument, command, option
from parties.models.combined import averages, sums, union, votes
from smc.errors import InputError


@command("combine", "smc combine tree-a.json tree-b.json tree-c.json --out forest.json")
def combine(
    models: tuple[Path, ...] = argument(FILE, metavar="FILE..."),
    at_least: int = option("Rules: keep those that this many files have; 1 = all  [1]", click.IntRange(1), default=1),
    out: Path = option("File for the combined model."),
    force: bool = FORCE,
) -> Report:
    """Combine models that several holders learned alone, from files of one kind and one question.

    Trees and forests vote with equal weight. Weights of linear models are averaged. Counts of naive Bayes models add
    up. Rules are united: --at-least keeps those of several files. Clusters are the k-means of all centroids, weighted
    by their rows.

    No row is read and no peer is needed. Sums of counts without noise are the joint model. Other results differ from
    the joint answer: docs/local-mining.md shows the loss.
    """
    check_new({"--out": out}, models, None, force)
    if len(models) < 2:
        raise InputError("FILE: give two files or more, one of each holder")
    if at_least > len(models):
        raise InputError(f"--at-least: is {at_least}, but there are {len(models)} files; give {len(models)} or less")
    kinds = [kind_of(path) for path in models]
    ways = [WAYS.get(kind or "") for kind in kinds]
    for path, kind, way in zip(models, kinds, ways, strict=True):
        if way is None:
            raise InputError(f"{path}: cannot be combined; give files of trees, rules, clusters, weights or counts")
        if way != ways[0]:
            raise InputError(f"{path}: this is {kind}, but {models[0]} is {kinds[0]}; give files of one kind")
    assert ways[0] is not None
    name, join = ways[0]
    if at_least > 1 and name != UNION:
        raise InputError("--at-least: counts rules; remove it")
    copies = _copies(models)
    if copies and name not in (VOTES, UNION):  # two holders may have equal trees or rules, but not equal counts
        raise InputError(f"{copies[0]}; list one file of each holder")
    model = join(models, at_least) if name == UNION else join(models)
    files.write_json(out, model)
    report = Report({"files": len(models), "how": name})
    report.line(f"written: {out}, {name} of {len(models)} files")
    for copy in copies:
        report.note(f"{copy}: both count, as the files of two holders; if both are of one holder, list one")
    if name == VOTES and len(model.get("trees", ())) == 2:
        report.line("two trees: the first decides ties; three or more vote")
    return report


def _copies(paths: Sequence[Path]) -> list[str]:
    """Return a line for each file with the content of an earlier one. Raise InputError if a file is listed twice."""
    contents = [files.read_json(path) for path in paths]
    copies: list[str] = []
    for at, path in enumerate(paths):
        if any(path.samefile(other) for other in paths[:at]):
            raise InputError(f"{path}: is listed twice; list one file of each holder")
        if (first := contents.index(contents[at])) < at:
            copies.append(f"{path}: has the content of {paths[first]}")
    return copies


def _centroids(paths: Sequence[Path]) -> dict[str, Any]:
    from parties.jobs.release.cluster.combined import centroids  # loads numpy and the protocols

    return centroids(paths)


UNION, VOTES = "union", "votes"
WAYS: dict[str, tuple[str, Callable[..., dict[str, Any]]]] = {
    TREE: (VOTES, votes),
    FOREST: (VOTES, votes),
    LINEAR: ("averages", averages),
    BAYES: ("sums", sums),
    RULES: (UNION, union),
    CLUSTERS: ("k-means", _centroids),
}
