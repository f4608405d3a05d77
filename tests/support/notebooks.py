"""Run a notebook's code cells in this process, as a kernel would, and hold what they print against what it shows.

`python -m tests.support.notebooks FILE` writes the outputs anew. A kernel of its own would bring 25 packages for that.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any


def outputs(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """What a cell prints, and its last line's value if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    found: list[dict[str, Any]] = []
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None  # noqa: S307
    if printed.getvalue():
        lines = printed.getvalue().splitlines(keepends=True)
        found.append({"name": "stdout", "output_type": "stream", "text": lines})
    if value is not None:
        data = {"text/plain": [repr(value)]}
        if hasattr(value, "_repr_svg_"):
            data["image/svg+xml"] = [value._repr_svg_()]
        found.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return found


def executed(path: Path, replaced: dict[str, str] | None = None) -> dict[str, Any]:
    """The notebook as it is after running from above, in its folder; `replaced` changes the code before."""
    notebook: dict[str, Any] = json.loads(path.read_text())
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                source = "".join(cell["source"])
                for old, new in (replaced or {}).items():
                    source = source.replace(old, new)
                cell["execution_count"], cell["outputs"] = count, outputs(source, names, count)
    finally:
        os.chdir(before)
    return notebook


if __name__ == "__main__":
    file = Path(sys.argv[1]).resolve()
    file.write_text(json.dumps(executed(file), indent=1, ensure_ascii=False) + "\n")
