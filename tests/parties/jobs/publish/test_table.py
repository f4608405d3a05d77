"""Joint tables as a task: the notes' numbers halved between two parties, sealed to an analyst or with noise."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography import x509
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.alone.publish.hiding.patterns import hide_by_pattern
from parties.alone.publish.hiding.tabulation import with_totals
from parties.alone.publish.sealing import sealed, sealing
from parties.cli import run
from parties.jobs.inputs import Inputs
from parties.jobs.kind import digest
from parties.jobs.kinds.publish.joint_table import JointTable
from parties.jobs.publish import analyst
from parties.jobs.publish.table_settings import JointTableExtra, JointTableSettings
from parties.jobs.release.noise import Noise
from parties.link import identity
from parties.tables.schema import Schema
from protocols.counts import RowCounts
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from smc.meter import Meter
from smc.primitives.prg import Prg
from smc.session import Session
from tests.support.joint_tables import ranges, state
from tests.support.questions import known_noise
from tests.support.refused import refused

BENEFITS = ("$0-19", "$20-39", "$40-59", "$60-79", "$80-99", "$100+")
COUNTIES = {
    "A": [2, 4, 18, 20, 7, 1],
    "B": [0, 0, 7, 9, 0, 0],
    "C": [0, 6, 30, 15, 4, 0],
    "D": [0, 0, 2, 0, 0, 0],
}
SYMPTOMS = ("Hypertension", "Obesity", "Chest pain", "Short Breath")
COSTS = {"M": ["2", "8.5", "23.5", "3"], "F": ["3", "30.5", "0", "5"]}
FEW = {("M", "Hypertension"): 1, ("F", "Short Breath"): 2}  # patients; 4 in the other cells
PRICES = ("0", "0.75", "2", "2.125", "2.5", "5.875", "7.625")
SCHEMA = Schema({"county": tuple(COUNTIES), "benefit": BENEFITS, "alone": ("1",), "sign": ("-1", "1")})
HOSPITAL = Schema({"sex": ("M", "F"), "symptom": SYMPTOMS, "cost": PRICES})
PRICED = Schema({**SCHEMA.attributes, "price": ("0", "1", "2")})
Row = dict[str, str]


def people() -> list[Row]:
    cells = [(c, b, n) for c, counts in COUNTIES.items() for b, n in zip(BENEFITS, counts, strict=True)]
    return [{"county": c, "benefit": b} for c, b, n in cells for _ in range(n)]


def patients() -> list[Row]:
    rows = []
    for sex, costs in COSTS.items():
        for symptom, cost in zip(SYMPTOMS, costs, strict=True):
            number = FEW.get((sex, symptom), 4)
            each = Fraction(cost) / number
            rows += [{"sex": sex, "symptom": symptom, "cost": f"{float(each):g}"}] * number
    return rows


def halves(rows: list[Row]) -> list[list[Row]]:
    return [rows[::2], rows[1::2]]


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("keys")
    for name in ("analyst", "other"):
        identity.create(name, [], directory)
    return directory


@pytest.fixture(scope="module")
def certificate(keys: Path) -> str:
    return analyst.in_file(keys / "analyst.crt")


def task(schema: Schema = SCHEMA, **fields: Any) -> Any:
    asked = {"by": "county", "across": "benefit", "max_rows": 200, **fields}
    return JointTable.canonical(JointTableSettings.model_validate(asked), schema)


def own_numbers(made: Any, rows: list[Row]) -> Any:
    attributes, target = made.schema.attributes, made.target
    features = made.schema.features(target)
    table = np.array([[attributes[n].index(row[n]) for n in features] for row in rows]).reshape(-1, len(features))
    labels = np.array([attributes[target].index(row[target]) for row in rows], dtype=np.int64)
    return made.own_rows(
        RowCounts([len(attributes[n]) for n in features], len(attributes[target]), table.astype(np.int64), labels)
    )


def found(
    made: Any, own: list[Any], profile: str = "clear", seed: int | None = None
) -> tuple[dict[str, Any], dict[int, Meter]]:
    meters: dict[int, Meter] = {}

    def party(session: Session) -> Any:
        meters[session.party] = session.meter
        if seed is not None:
            session.contributions = Prg(bytes([seed, session.party] * 8))
        return made.run(engine_of(session, Profile(profile)), own[session.party], None, lambda step: None)

    left, right = run_local(party)
    assert left == right
    return json.loads(json.dumps(left)), meters


def written(directory: Path, name: str, made: Any, state: Any) -> Path:
    path = directory / name
    path.write_text(json.dumps(made.document(state)))
    return path


def opened(*files: Path, key: Path, out: Path) -> dict[tuple[str, str], str]:
    assert run(["publish", "open", *map(str, files), "--key", str(key), "--out", str(out)]) == 0
    assert out.stat().st_mode & 0o777 == 0o600
    with out.open(newline="") as stream:
        header, *lines = csv.reader(stream)
    return {(line[0], name): cell for line in lines for name, cell in zip(header[1:], line[1:], strict=True)}


def test_county_table_of_two_halves(keys: Path, certificate: str, tmp_path: Path) -> None:
    made = task(analyst=certificate, against="public", zeros="shown")
    own = [own_numbers(made, rows) for rows in halves(people())]
    result, _ = found(made, own, "yao")
    files = [written(tmp_path, name, made, result) for name in ("a.json", "b.json")]
    table = opened(*files, key=keys / "analyst.key", out=tmp_path / "t.csv")
    few = {(c, b) for c, counts in COUNTIES.items() for b, n in zip(BENEFITS, counts, strict=True) if 0 < n < 3}
    assert few == {("A", "$0-19"), ("A", "$100+"), ("D", "$40-59")}
    assert {cell for cell, text in table.items() if text == "x"} > few
    grid = with_totals(np.array(list(COUNTIES.values())))
    for (row, column), text in table.items():
        value = grid[[*COUNTIES, "Total"].index(row), [*BENEFITS, "Total"].index(column)]
        assert text in ("x", str(value)), (row, column)
    assert [table[c, "Total"] for c in ("A", "C", "Total")] == ["52", "55", "125"]
    hidden = np.array([[table[r, c] == "x" for c in (*BENEFITS, "Total")] for r in (*COUNTIES, "Total")])
    for place, (low, high) in ranges(grid, hidden).items():
        assert high - low > 0.5, place
        if 0 < grid[place] < 3:
            assert low < 1e-6
            assert high > 3 - 1e-6
    # neither party's file, nor both with what each knows, has a number: the masks are sealed
    _, *lines, _ = JointTable.text(made.document(result), 0).splitlines()  # between the titles and who opens it
    assert [line.split()[0] for line in lines] == [*COUNTIES, "Total"]
    assert {cell for line in lines for cell in line.split()[1:]} == {"x", "*"}


def test_magnitude_table_of_two_halves(keys: Path, certificate: str, tmp_path: Path) -> None:
    made = task(HOSPITAL, by="sex", across="symptom", sum="cost", analyst=certificate, against="public")
    result, _ = found(made, [own_numbers(made, rows) for rows in halves(patients())])
    table = opened(written(tmp_path, "s.json", made, result), key=keys / "analyst.key", out=tmp_path / "t.csv")
    hidden = {cell for cell, text in table.items() if text == "x"}
    assert set(FEW) < hidden
    assert table["Total", "Total"] == "75.500"
    for sex, costs in COSTS.items():
        for symptom, cost in zip(SYMPTOMS, costs, strict=True):
            assert (sex, symptom) in hidden or Fraction(table[sex, symptom]) == Fraction(cost)
    for sex in COSTS:  # no sum of published cells of a line gives a small one
        assert sum((sex, s) in hidden for s in (*SYMPTOMS, "Total")) != 1


@settings(max_examples=25)
@given(
    st.lists(st.lists(st.integers(0, 9), min_size=6, max_size=6), min_size=2, max_size=2),
    st.sampled_from([("public", "hidden"), ("public", "shown"), ("peer", "hidden"), ("peer", "shown")]),
    st.sampled_from([2, 3, None]),
    st.integers(3, 6),
)
def test_the_analyst_reads_the_table_of_the_union(
    certificate: str, keys: Path, counts: list[list[int]], rule: tuple[str, str], columns: int | None, threshold: int
) -> None:
    shape = (6 // columns, columns) if columns else (6, 1)
    schema = Schema({"r": tuple(map(str, range(shape[0]))), "c": tuple(map(str, range(max(2, shape[1]))))})
    made = task(
        schema,
        by="r",
        across="c" if columns else None,
        analyst=certificate,
        against=rule[0],
        zeros=rule[1],
        threshold=threshold,
    )
    grids = [with_totals(np.array(part).reshape(shape)) for part in counts]
    own = [np.stack([grid.reshape(-1)] * 2) for grid in grids]
    states = [
        state(pair, threshold, *rule) for pair in zip(*(grid.reshape(-1).tolist() for grid in grids), strict=True)
    ]
    if states[-1] != 0:
        with pytest.raises(InputError, match="nothing can be published"):
            found(made, own)
        return
    shown = hide_by_pattern(np.array(states).reshape(grids[0].shape), threshold, rule[1] == "shown")
    if shown.all():
        with pytest.raises(InputError, match="every cell would be hidden"):
            found(made, own)
        return
    result, _ = found(made, own)
    read = sealed.SealedTable.model_validate(json.loads(json.dumps(made.document(result))))
    table = sealed.open_table(Path("x"), read, identity.load_key(keys / "analyst.key"))
    small = np.array([one == 1 for one in states]).reshape(grids[0].shape)
    assert read.mask[small].all()
    assert (table.values == np.where(read.mask, 0, sum(grids))).all()


@pytest.mark.parametrize("profile", ["yao", "gmw"])
@pytest.mark.parametrize("way", ["sealed", "noisy", "noisy sums"])
def test_the_estimate_is_what_is_measured(profile: str, way: str, certificate: str) -> None:
    fields: dict[str, Any] = {"analyst": certificate} if way == "sealed" else {"epsilon": 0.5}
    fields |= {"zeros": "shown", "against": "peer"} if way == "sealed" else {}
    if way == "noisy sums":
        fields["sum"] = "price"
    made = task(PRICED, engine=profile, **fields)
    rows = [[{**row, "price": str(i % 3)} for i, row in enumerate(half)] for half in halves(people())]
    result, meters = found(made, [own_numbers(made, half) for half in rows], profile)
    hidden = result["hidden"].count("1")
    if way != "sealed":
        ahead = made.cost(Inputs(), JointTableExtra())
        assert str(ahead) == "exact"
        counted = forecast(ahead.program, Profile(profile))
        for party in (0, 1):
            cost, said = meters[party].total.as_dict(), counted.meters[party].total.as_dict()
            assert {**cost, "seconds": 0} == {**said, "seconds": 0}
        assert sum(made.disclosure.opened(result).values()) == 2 * 35 - hidden
        with pytest.raises(InputError, match="does not apply with epsilon"):
            made.cost(Inputs(), JointTableExtra(hidden=1))
        return
    assert hidden > 5
    ahead = made.cost(Inputs(), JointTableExtra(hidden=hidden))
    assert str(ahead) == f"exact, for a table with {hidden} hidden cells"
    counted = forecast(ahead.program, Profile(profile))
    for party in (0, 1):
        cost, said = meters[party].total.as_dict(), counted.meters[party].total.as_dict()
        assert {**cost, "seconds": 0} == {**said, "seconds": 0}
    assert forecast(made.cost(Inputs()).program, Profile(profile)).bytes > counted.bytes
    assert sum(made.disclosure.opened(result).values()) == 2 * 35 + 35 - hidden
    assert made.disclosure.opened(None) == dict.fromkeys(made.disclosure.opened(result), 0)
    with pytest.raises(InputError, match="at least one must stay visible"):
        made.cost(Inputs(), JointTableExtra(hidden=35))


def test_noise_is_charged_and_shown() -> None:
    made = task(epsilon=0.5)
    (spent,) = made.disclosure.spends
    assert (spent.mechanism, spent.amount, spent.times) == ("discrete Laplace", 0.5, 1)
    assert made.noise.scale == 8  # a row is in a cell, two totals and the grand total
    assert task(epsilon=0.5, adjacency="replace").noise.scale == 12
    assert task(epsilon=0.5, across=None).noise.scale == 4
    dear = task(HOSPITAL, by="sex", across="symptom", sum="cost", epsilon=0.5)
    assert dear.noise.scale * dear.unit == Fraction("7.625") * 16
    assert dear.rows_noise.scale == 16
    assert [loss.amount for loss in dear.disclosure.spends] == [0.25, 0.25]
    assert not made.disclosure.exact
    result, _ = found(made, [own_numbers(made, rows) for rows in halves(people())], seed=3)
    document = made.document(result)
    grid = with_totals(np.array(list(COUNTIES.values())))
    shown = [
        (one, int(n))
        for line, row in zip(document["cells"], grid, strict=True)
        for one, n in zip(line, row, strict=True)
    ]
    assert sum(one is None for one, _ in shown) == result["hidden"].count("1")
    assert any(one["noisy"] != n for one, n in shown if one)
    assert all(one["noisy"] >= 3 for one, _ in shown if one)
    text = made.text(document, 0)
    assert "epsilon 0.5" in text
    assert "x: fewer than 3 rows, with noise" in text


@settings(max_examples=25)
@given(
    st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=2, max_size=2),
    st.integers(-6, 6),
    st.sampled_from(["", "price"]),
    st.integers(3, 6),
)
def test_noise_decides_which_cells_are_few(counts: list[list[int]], noise: int, of: str, threshold: int) -> None:
    """With a noise that is known: a cell is hidden where the noisy rows are fewer than the threshold."""
    schema = Schema({"r": ("0", "1"), "c": ("0", "1"), "price": ("0", "2")})
    made = task(schema, by="r", across="c", epsilon=1.0, threshold=threshold, **({"sum": of} if of else {}))
    grids = [with_totals(np.array(part).reshape(2, 2)).reshape(-1) for part in counts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Noise, "law", known_noise(noise))
        result, _ = found(made, [np.stack([grid, grid[::-1] if of else grid]) for grid in grids])
    rows = sum(grids)
    numbers = rows[::-1] if of else rows
    hidden = rows + noise < threshold
    assert result["hidden"] == "".join(str(int(one)) for one in hidden)
    assert result["numbers"] == (numbers + noise)[~hidden].tolist()


@pytest.mark.parametrize(("key", "value"), [("against", "peer"), ("zeros", "shown")])
def test_noise_has_no_exact_rule(key: str, value: str) -> None:
    with pytest.raises(InputError, match=f"{key}: does not apply with epsilon"):
        task(epsilon=1.0, **{key: value})


def test_a_repeated_run_seals_the_same_shares(certificate: str) -> None:
    made = task(analyst=certificate, against="public")
    own = [own_numbers(made, rows) for rows in halves(people())]
    first, again, other = (found(made, own, seed=seed)[0] for seed in (1, 1, 2))
    assert first == again
    assert digest(made, first) == digest(made, again)
    assert first["hidden"] == other["hidden"]
    assert first["masked"] != other["masked"]
    assert set(first["shares"]).isdisjoint(other["shares"])


def test_every_share_is_sealed_under_a_secret_key_of_its_own(certificate: str) -> None:
    """Whoever finds the key of one share in what is public, or in another share, takes the masks off the numbers."""
    made = task(analyst=certificate, against="public")
    own = [own_numbers(made, rows) for rows in halves(people())]

    def party(session: Session) -> Any:
        session.identifier = bytes(32)  # all that is public is the same, in both runs and at both parties
        return made.run(engine_of(session, Profile("clear")), own[session.party], None, lambda step: None)

    shares = [share for _ in range(2) for share in run_local(party)[0]["shares"]]
    assert len({share[: 2 * sealing.POINT_BYTES] for share in shares}) == 4


def changed(document: dict[str, Any], other: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    share, hidden = document["shares"][0], document["hidden"]
    flipped = f"{share[:-2]}{int(share[-2:], 16) ^ 1:02x}"
    first, none = "party 0's share does not open", "not a sealed table"
    yield {**document, "shares": [flipped, document["shares"][1]]}, first
    yield {**document, "shares": document["shares"][::-1]}, first
    yield {**document, "shares": [share, other["shares"][1]]}, "party 1's share does not open"
    yield {**document, "masked": other["masked"]}, first
    yield {**document, "by": "town"}, first
    yield {**document, "job": "0" * 64}, first
    yield {**document, "hidden": [hidden[-1], *hidden[1:-1], hidden[0]]}, first
    yield {**document, "hidden": hidden[1:]}, none
    yield {**document, "masked": document["masked"][2:]}, none
    yield {key: value for key, value in document.items() if key != "shares"}, none


def test_what_was_changed_does_not_open(
    keys: Path, certificate: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = task(analyst=certificate, against="public")
    own = [own_numbers(made, rows) for rows in halves(people())]
    document, other = (made.document(found(made, own, seed=seed)[0]) for seed in (1, 2))
    good, bad, out = tmp_path / "good.json", tmp_path / "bad.json", tmp_path / "t.csv"
    good.write_text(json.dumps(document))
    key = ["--key", str(keys / "analyst.key"), "--out", str(out)]

    def stays_closed(words: str, *arguments: str) -> None:
        capsys.readouterr()
        assert words in refused(["publish", "open", *arguments], capsys)
        assert not out.exists()

    for content, words in changed(document, other):
        bad.write_text(json.dumps(content))
        stays_closed(words, str(bad), *key)
    bad.write_text("{")
    stays_closed("not a sealed table", str(bad), *key)
    bad.write_text(json.dumps(other))
    stays_closed("from one job but differ", str(good), str(bad), *key)
    third = task(analyst=certificate, against="public", threshold=4)
    bad.write_text(json.dumps(third.document(found(third, own)[0])))
    stays_closed("are from different jobs", str(good), str(bad), *key)
    stays_closed("the table was sealed to another key", str(good), "--key", str(keys / "other.key"), "--out", str(out))
    open_key = tmp_path / "open.key"
    open_key.write_bytes((keys / "analyst.key").read_bytes())
    open_key.chmod(0o644)
    stays_closed("can be read by other users", str(good), "--key", str(open_key), "--out", str(out))
    stays_closed("good.json", str(good), "--key", str(keys / "analyst.key"), "--out", str(good))


def test_what_is_said_of_it(certificate: str) -> None:
    made = task(analyst=certificate, against="public", zeros="shown")
    assert made.parameters()["analyst"].startswith("analyst (")
    again = JointTable.agreed(json.loads(json.dumps(made.specification())))
    assert again.specification() == made.specification()
    assert again.disclosure.reveals("bob") == made.disclosure.reveals("bob")
    told = " ".join(made.disclosure.reveals("bob"))
    assert f"are sealed to the key of analyst ({made.disclosure.analyst})" in told
    assert "Whoever holds that key and one party's rows has the other's numbers: bob has ours if" in told
    assert "and which are empty" in told
    assert "nothing is promised" in told
    armoured = f"-----BEGIN CERTIFICATE-----\n{certificate[:64]}\n{certificate[64:]}\n-----END CERTIFICATE-----\n"
    assert task(analyst=armoured, against="public", zeros="shown").specification() == made.specification()


WRONG: list[tuple[str, str]] = [
    ("--by county", "give either epsilon, for numbers with noise, or --to"),
    ("--by county --epsilon 1 --to analyst.crt", "give either epsilon, for numbers with noise"),
    ("--epsilon 1", "--by is missing"),
    ("--by town --epsilon 1", "by: 'town' is not an attribute of the schema"),
    ("--by county --across county --epsilon 1", "a column can be used only once"),
    ("--by county --sum county --epsilon 1", "a column can be used only once"),
    ("--by county --across alone --epsilon 1", "across: 'alone' has only one value"),
    ("--by county --sum benefit --epsilon 1", "must be numbers"),
    ("--by county --sum sign --epsilon 1", "'sign' has negative values"),
    ("--by county --threshold 2 --epsilon 1", "--threshold: must be >= 3"),
    ("--by county --threshold 9 --max-rows 8 --to analyst.crt", "at most 8 rows of a party"),
    ("--by county --threshold 17 --max-rows 8 --epsilon 1", "at most 16 rows in all"),
    ("--by county --to analyst.key", "holds a private key"),
    ("--by county --to mine.csv", "no readable certificate"),
    ("--by county --to no.crt", "no.crt: there is no such file"),
    ("--by county --to analyst.crt --out analyst.crt", "analyst.crt"),
    ("--by county --to analyst.crt", "--out is missing; name a file for the sealed table"),
]


@pytest.mark.parametrize(("line", "message"), WRONG, ids=[line for line, _ in WRONG])
def test_what_is_wrong_is_a_line(
    line: str,
    message: str,
    keys: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    SCHEMA.save(tmp_path / "schema.toml")
    (tmp_path / "mine.csv").write_text("county,benefit,alone,sign\nA,$0-19,1,1\n")
    for name in ("analyst.crt", "analyst.key"):
        (tmp_path / name).write_bytes((keys / name).read_bytes())
    flags = [*line.split(), "--data", "mine.csv", "--schema", "schema.toml", "--listen", "127.0.0.1:0"]
    assert message in refused(["publish", "joint-table", *flags], capsys)


def test_a_certificate_for_something_else_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="analyst: must be a certificate"):
        task(analyst="QUJD")
    usage = x509.KeyUsage
    with monkeypatch.context() as patch:
        patch.setattr(identity.x509, "KeyUsage", lambda **uses: usage(**{**uses, "key_agreement": False}))
        identity.create("signer", [], tmp_path)
    with pytest.raises(InputError, match="the certificate's key is for signatures only"):
        task(analyst=analyst.in_file(tmp_path / "signer.crt"))
