"""Adult by anjana, told what to do as JSON on standard input: run by `benchmarks.publishing`, elsewhere.

Its releases pin pandas and numpy to versions that are not ours, so this module imports nothing of the project.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any


def main() -> None:
    """A line of JSON a case: seconds, and what is left of the table; what went wrong, if it did."""
    warnings.filterwarnings("ignore")
    import pandas
    from anjana.anonymity import k_anonymity, l_diversity, t_closeness

    job = json.load(sys.stdin)
    table = pandas.read_csv(job["table"])
    trees = {}
    for name, path in job["trees"].items():
        frame = pandas.read_csv(path, header=None)
        trees[name] = {i: frame[i].values for i in range(len(frame.columns))}
    for case in job["cases"]:
        quasi, k, most, label = case["quasi"], case["k"], case["percent"], job["label"]
        hierarchies = {name: trees[name] for name in quasi}
        start, before = time.perf_counter(), time.process_time()
        try:
            if "l" in case:
                out = l_diversity(table.copy(), job["drop"], quasi, label, k, case["l"], most, hierarchies)
            elif "t" in case:
                out = t_closeness(table.copy(), job["drop"], quasi, label, k, case["t"], most, hierarchies)
            else:
                out = k_anonymity(table.copy(), job["drop"], quasi, k, most, hierarchies)
        except Exception as error:  # its own kinds
            answer: dict[str, Any] = {"problem": f"{type(error).__name__}: {error}"[:200]}
        else:
            seconds, used = time.perf_counter() - start, time.process_time() - before
            sizes = out.groupby(quasi).size() if len(out) else pandas.Series([], dtype=int)
            lost = len(table) - len(out)
            answer = {
                "seconds": round(seconds, 3),
                "processor_seconds": round(used, 3),
                "classes": len(sizes),
                "suppressed": lost,
                "discernibility": int((sizes**2).sum()) + lost * len(table),
            }
        print(json.dumps({"case": case["case"], **answer}), flush=True)


if __name__ == "__main__":
    main()
