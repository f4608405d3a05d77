"""Holders of rows in notebooks: two that compute, and two that give, as threads over real links."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from parties.link.identity import create
from parties.notebook import Contributor, Holders, JointID3Classifier, JointRules
from smc.errors import InputError, SmcError
from tests.support.ports import free_port

SCHEMA = (
    'target = "play"\n[attributes]\nwind = ["weak", "strong"]\nrain = ["no", "some", "much"]\nplay = ["yes", "no"]\n'
)
NODES, GIVERS, ROWS = ("a", "b"), ("anna", "bert"), 30


class Consortium:
    """A folder with keys, rows and party files."""

    def __init__(self, folder: Path) -> None:
        self.folder, random = folder, np.random.default_rng(4)
        (folder / "schema.toml").write_text(SCHEMA)
        self.ports = [free_port() for _ in range(3)]
        self.rows = {}
        for name in (*NODES, *GIVERS):
            create(name, ["127.0.0.1"], folder)
            wind, rain = random.choice(["weak", "strong"], ROWS), random.choice(["no", "some", "much"], ROWS)
            play = np.where((wind == "weak") ^ (random.random(ROWS) < 0.2), "yes", "no")
            self.rows[name] = pd.DataFrame({"wind": wind, "rain": rain, "play": play})
            self.rows[name].to_csv(folder / f"{name}.csv", index=False)
            link = f'[link]\nidentity = "{name}.key"\ncertificate = "{name}.crt"\nwait = 30\n'
            if name in NODES:
                way = "listen" if name == "a" else "connect"
                link += f'peer = "{"b" if name == "a" else "a"}.crt"\n{way} = "127.0.0.1:{self.ports[2]}"\n'
            else:
                at = ", ".join(f'"127.0.0.1:{port}"' for port in self.ports[:2])
                link += f'[contribute]\nnodes = ["a.crt", "b.crt"]\nat = [{at}]\n'
                link += f'[tables.days]\nsource = "{name}.csv"\nschema = "schema.toml"\nmax_rows = {ROWS}\n'
            (folder / f"{name}.toml").write_text(link)

    def parameters(self, party: int, compute_only: bool) -> dict[str, Any]:
        files = [self.folder / f"{name}.crt" for name in GIVERS]
        at = f"127.0.0.1:{self.ports[party]}"
        peer = self.folder / f"{NODES[party]}.toml"
        return {"peer": peer, "holders": Holders(files, at, compute_only), "max_rows": ROWS}

    @property
    def schema(self) -> Path:
        return self.folder / "schema.toml"

    def union(self, *names: str) -> pd.DataFrame:
        return pd.concat([self.rows[name] for name in names])

    def together(self, *nodes: Callable[[], Any]) -> list[Any]:
        """The results of both that compute, and the numbers of questions that the holders answered."""
        terms: list[str] = []

        def give(name: str) -> int:
            return Contributor(self.folder / f"{name}.toml").contribute(lambda lines: bool(terms.extend(lines) or True))

        with ThreadPoolExecutor(4) as threads:
            works = [*map(threads.submit, nodes), *(threads.submit(give, name) for name in GIVERS)]
            found = [work.result() for work in works]
        assert any("put their shares together" in line for line in terms)
        return found


@pytest.fixture
def consortium(tmp_path: Path) -> Consortium:
    return Consortium(tmp_path)


def test_two_that_only_compute_learn_the_tree_of_the_holders(consortium: Consortium) -> None:
    def node(party: int) -> Any:
        return JointID3Classifier(
            consortium.schema, plain=True, engine="gmw", **consortium.parameters(party, True)
        ).fit()

    one, other, *answered = consortium.together(lambda: node(0), lambda: node(1))
    alone = JointID3Classifier(consortium.schema, plain=True).fit(consortium.union(*GIVERS))
    assert one.tree_ == other.tree_ == alone.tree_
    assert answered[0] == answered[1] > 1
    rows = consortium.rows["anna"][["wind", "rain"]]
    assert (one.predict(rows) == alone.predict(rows)).all()


def test_two_that_give_rows_too_learn_the_rules_of_all(consortium: Consortium) -> None:
    asked: dict[str, Any] = {"support": 0.1, "confidence": 0.4, "k": 2}

    def node(party: int) -> Any:
        rules = JointRules(consortium.schema, **asked, **consortium.parameters(party, False))
        return rules.fit(consortium.rows[NODES[party]])

    one, other, *_ = consortium.together(lambda: node(0), lambda: node(1))
    alone = JointRules(consortium.schema, **asked, max_rows=4 * ROWS).fit(consortium.union(*NODES, *GIVERS))
    assert one.rules_ == other.rules_ == alone.rules_ != []


def test_wrong_uses_are_a_line(consortium: Consortium) -> None:
    rows, only = consortium.rows["a"], consortium.parameters(0, True)
    holders = only["holders"]
    for made, X, message in (
        ({**only, "peer": None}, None, "holders: the other party that computes is missing"),
        (only, rows, "X: the two that compute have no rows"),
        ({**only, "l": 2.0}, None, "--holders: l and t against the peer"),
        ({**only, "holders": Holders([holders.certificates[0]] * 2, holders.at)}, rows, "is listed twice"),
        ({**only, "holders": Holders([consortium.folder / "a.crt"], holders.at)}, rows, "this node's own certificate"),
    ):
        with pytest.raises(InputError, match=message) as failed:
            JointID3Classifier(consortium.schema, **made).fit(X)
        assert "\n" not in str(failed.value)
    with pytest.raises(SmcError, match="table: there is no 'nights'"):
        Contributor(consortium.folder / "anna.toml", "nights").contribute(lambda lines: False)
