"""HTML pages from templates: one environment for every room that has some."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined


def environment(package: str) -> Environment:
    """The templates in the folder "templates" of a package.

    What is filled in is escaped, a name that was not given is an error; each is compiled when it is first filled in.
    """
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
