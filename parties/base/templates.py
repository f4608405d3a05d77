"""HTML pages from templates: one environment for every room that has some.

`document.html` is what a page that stands alone extends (blocks title, style, content): nothing is fetched, no script
runs.
"""

from __future__ import annotations

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined


def environment(package: str) -> Environment:
    """Return the templates in the folder "templates" of a package, and `document.html`.

    What is filled in is escaped, a name that was not given is an error; each is compiled when it is first filled in.
    """
    return Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("parties.base")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
