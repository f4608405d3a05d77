"""HTML pages from templates: one environment for every room with pages.

`document.html` is the base of self-contained pages (blocks title, style, content): they fetch nothing and run no
script.
"""

from __future__ import annotations

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined


def environment(package: str) -> Environment:
    """Return the templates in the folder "templates" of a package, and `document.html`.

    Values are escaped, and a missing name is an error; a template is compiled at its first use.
    """
    return Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("parties.base")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
