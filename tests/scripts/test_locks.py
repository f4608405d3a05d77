"""The locked versions are those that pyproject.toml asks for, and nothing is installed without its hash."""

from __future__ import annotations

import re
import tomllib
from functools import cache

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.support.places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
GROUPS: dict[str, list[str]] = PROJECT["dependency-groups"]
LOCKS = {  # what each was made for: extras, groups
    "core": ([], ["build"]),
    "node": (["node"], ["build"]),
    "dev": (["dev"], ["build"]),
    "mysql": (["mysql"], ["build"]),
    "supply": (None, ["supply"]),
    "fuzz": (None, ["fuzz"]),
}


@cache
def locked(name: str) -> dict[str, list[Version]]:
    """Return the versions of each package in a file; more than one where Python's version decides."""
    found: dict[str, list[Version]] = {}
    for package, version in re.findall(
        r"^([\w.-]+)==([^ ;\\]+)", (ROOT / f"requirements/{name}.txt").read_text(), re.M
    ):
        found.setdefault(canonicalize_name(package), []).append(Version(version))
    return found


def asked(extras: list[str] | None, groups: list[str]) -> list[Requirement]:
    """Return what pyproject.toml asks for, with the extras that extras bring."""
    lines = [line for group in groups for line in GROUPS[group]]
    if extras is not None:
        lines += PROJECT["project"]["dependencies"]
    lines += [line for extra in extras or [] for line in EXTRAS[extra]]
    found: list[Requirement] = []
    while lines:
        requirement = Requirement(lines.pop())
        if requirement.name == PROJECT["project"]["name"]:
            lines += [line for extra in requirement.extras for line in EXTRAS[extra]]
        else:
            found.append(requirement)
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_what_the_project_asks_for(name: str) -> None:
    """Run `make lock` after a change of dependencies."""
    versions = locked(name)
    for requirement in asked(*LOCKS[name]):
        found = versions.get(canonicalize_name(requirement.name), [])
        assert found, f"{requirement} is not in requirements/{name}.txt: run make lock"
        wrong = [version for version in found if version not in requirement.specifier]
        assert not wrong, f"{requirement.name} {wrong} of requirements/{name}.txt is not {requirement.specifier}"


@pytest.mark.parametrize("name", LOCKS)
def test_each_locked_version_has_hashes_and_no_other_place_it_comes_from(name: str) -> None:
    text = (ROOT / f"requirements/{name}.txt").read_text()
    entries = re.split(r"\n(?=[a-z0-9])", re.sub(r"^#.*\n", "", text, flags=re.M).strip())
    assert len(entries) == sum(map(len, locked(name).values()))
    for entry in entries:
        first, *rest = entry.rstrip().split(" \\\n")
        assert rest, f"{first} has no hash"
        assert all(re.fullmatch(r" {4}--hash=sha256:[0-9a-f]{64}", line) for line in rest), first


@pytest.mark.parametrize("name", ["core", "node", "mysql"])
def test_what_is_tested_is_what_is_installed(name: str) -> None:
    tested = locked("dev")
    for package, versions in locked(name).items():
        assert tested.get(package, versions) == versions


def test_the_makefile_and_the_image_install_by_hash_alone() -> None:
    for place in ("Makefile", "deploy/Dockerfile"):
        text = (ROOT / place).read_text().replace("\\\n", " ")
        installs = re.findall(r"^(?!INSTALL :=).*(?:pip install|\$\(INSTALL\)) (.*?)(?:&&|$)", text, re.MULTILINE)
        assert installs
        for install in installs:
            assert "--require-hashes" in install or "$(PACKAGE)" in install or "--no-deps" in install, install
