"""The core is enough for what two people start by hand, and a line says what installs the rest."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from pyarrow.csv import read_csv
from pyarrow.parquet import write_table

from parties.base import extras
from parties.base.extras import EXTRA_OF, importing, install_line, needing, remedy
from parties.tables import example
from smc.errors import InputError
from tests.support.core_steps import learn_a_tree
from tests.support.places import ROOT
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

APART = ("ray",)  # large, and not in `dev`: its package has the module's name
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def name(requirement: str) -> str:
    return re.split(r"[\[<>=; ]", requirement)[0].lower().replace("_", "-")


def modules_of(name: str) -> set[str]:
    """What is imported from a distribution."""
    return {file.parts[0].partition(".")[0] for file in distribution(name).files or ()}


def test_every_package_of_an_extra_has_its_line() -> None:
    core = {name(one) for one in PROJECT["dependencies"]} | {extras.DISTRIBUTION}
    for extra, requirements in PROJECT["optional-dependencies"].items():
        for one in {name(one) for one in requirements} - core:
            modules = {one} if extra in APART else modules_of(one)
            assert extra in ("dev", "docs") or modules & set(EXTRA_OF), one
    assert set(EXTRA_OF.values()) <= set(PROJECT["optional-dependencies"])


def test_the_core_brings_nothing_of_the_extras() -> None:
    for one in PROJECT["dependencies"]:
        found = modules_of(name(one))
        assert found
        assert not found & set(EXTRA_OF), one


def test_the_line_is_for_the_environment_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its interpreter is named even where another pip, or that of this environment, is what `pip` alone would run."""
    place = tmp_path / "of ours" / "bin"
    monkeypatch.setattr(sys, "executable", str(place / "python"))
    monkeypatch.setattr(sys, "prefix", str(place.parent))
    place.mkdir(parents=True)
    (place / "pip").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(place))
    rest = "-m pip install 'smc-two-party[node]'"
    assert install_line("node") == f"'{place}/python' {rest}"
    monkeypatch.chdir(tmp_path)
    assert install_line("node") == f"'of ours/bin/python' {rest}"


def test_what_is_no_extra_is_no_remedy() -> None:
    assert remedy(ModuleNotFoundError("no", name="nothing.of.ours")) is None
    assert remedy(ImportError("cannot import name", name="opendp")) is None  # there, but broken
    with pytest.raises(ModuleNotFoundError), needing("x"):
        import nothing_of_ours  # type: ignore[import-not-found]  # noqa: F401
    missing = ModuleNotFoundError("no", name="opendp.mod")
    with pytest.raises(InputError, match=r"x: needs .*opendp.*pip install 'smc-two-party\[node\]'"), needing("x"):
        raise missing
    with pytest.raises(ImportError, match=r"pip install 'smc-two-party\[node\]'"), importing("x"):
        raise missing


@pytest.fixture
def core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Processes started here find nothing of the extras, nor do those that they start; but a source tree compiles."""
    folder = tmp_path / "blocked"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        f"import sys\nfor name in {[name for name in EXTRA_OF if EXTRA_OF[name] != 'compile']!r}:\n"
        "    sys.modules[name] = None\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(ROOT)]))
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)  # see tests.support.places
    monkeypatch.chdir(tmp_path)
    return tmp_path


def smc(*arguments: object) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "parties", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout, done.stderr


def test_the_core_runs_a_demo(core: Path) -> None:
    code, said, errors = smc("demo", "--svg", "tree.svg")
    assert code == 0, errors
    assert "├── outlook = sunny" in said
    assert "<svg" in (core / "tree.svg").read_text()  # drawn without a library


MANY = """
from parties import cli
import sys
for line in sys.argv[1].splitlines():
    print(cli.run(line.split()), line, flush=True)
"""


def test_what_the_core_can_and_what_it_says_of_the_rest(core: Path) -> None:
    """In one process, for it is quicker: every command's help, estimates, and commands that lack their extra."""
    data = example.demo()
    write_table(read_csv(data.clinic_a), core / "mine.parquet")
    (core / "party.toml").write_text(f'[tables.t]\nsource = "{data.clinic_a}"\nschema = "{data.schema}"\n')
    able = [
        "--help", "id3 --help", "millionaires --help", "run --help", "release count --help", "node --help",
        "blur --help", "jobs --help", "publish --help", "local --help", "bench --help", "policy --help",
        "budget --help", "web --help",
        f"schema --data {data.clinic_a} --target play --out schema.toml",
        "identity create anna --out .", "identity show anna.crt",
        f"estimate id3 --schema {data.schema} --max-rows 100", "estimate millionaires",
        "estimate majority --classes a,b",
    ]  # fmt: skip
    unable = {
        f"id3 --data {data.clinic_a} --schema {data.schema} --dot x.dot --listen 127.0.0.1:0 "
        "--identity anna.key --certificate anna.crt --peer anna.crt": "plots",
        "node --config party.toml": "node",
        "schema --data mine.parquet --target play --out other.toml": "duckdb",
    }
    program = [sys.executable, "-c", MANY, "\n".join([*able, *unable])]
    done = subprocess.run(program, capture_output=True, text=True, timeout=PATIENCE, check=False)
    codes = {line: int(code) for code, line in re.findall(r"^(\d+) (.+)$", done.stdout, re.MULTILINE)}
    assert {line for line in able if codes.get(line) != 0} == set(), done.stderr
    assert {line for line in unable if codes.get(line) != 2} == set(), done.stderr
    lines = [line for line in done.stderr.splitlines() if "pip install" in line]
    assert [re.search(r"\[(\w+)\]'$", line)[1] for line in lines] == list(unable.values())  # type: ignore[index]


COUNT = """
from parties.sources import TableSettings, open_table
from parties.tables import example, schema
data = example.demo()
agreed = schema.load(data.schema)
table = TableSettings.model_validate({"source": str(data.clinic_a), "schema": str(data.schema)})
with open_table(table, agreed, "play") as source:
    print(source.check(), type(source).__name__)
try:
    open_table(table.model_copy(update={"source": "FOLDER"}), agreed, "play")
except Exception as error:
    print(type(error).__name__, error)
"""


def test_the_core_counts_small_csv_files_and_names_what_reads_others(core: Path) -> None:
    write_table(read_csv(example.demo().clinic_a), core / "mine.parquet")
    program = COUNT.replace("FOLDER", str(core))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    counted, refused = done.stdout.splitlines()
    assert counted == "7 InMemory", done.stderr
    assert refused.startswith(f"InputError {core}: needs more packages (ibis is not installed): ")
    assert refused.endswith("-m pip install 'smc-two-party[duckdb]'")


def test_the_core_learns_a_tree_of_two_csv_files(core: Path) -> None:
    """The short form of `tests/test_install.py`, which installs the core from the wheel."""
    first, second = learn_a_tree([sys.executable, "-m", "parties"], core)
    assert re.findall(r"^[├└│].*", first, re.MULTILINE) == re.findall(r"^[├└│].*", second, re.MULTILINE) != []


WALK = """
import json
import click
from parties import cli


def leaves(group, context, *path):
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from leaves(command, click.Context(command, parent=context), *path, name)
        else:
            yield [*path, name], command


def needed(command):
    for parameter in command.params:
        if parameter.required:
            if isinstance(parameter, click.Option):
                yield parameter.opts[0]
            for _ in range(max(1, parameter.nargs)):
                kind = parameter.type
                number = isinstance(kind, click.types.IntParamType | click.types.FloatParamType)
                choices = isinstance(kind, click.Choice)
                yield kind.choices[0] if choices else "1" if number else "rows.csv"


whole = next(value for value in vars(cli).values() if isinstance(value, click.Group))
for path, command in leaves(whole, click.Context(whole)):
    print(json.dumps([cli.run([*path, "--help"]), *path, "--help"]), flush=True)
    if path not in (["bench"], ["demo"]):  # which need nothing and take long
        print(json.dumps([cli.run([*path, *needed(command)]), *path]), flush=True)
"""


def test_every_command_of_the_core_does_its_work_or_ends_with_a_line(core: Path) -> None:
    """Each is called with what it cannot do without: it works, or a file or an extra is missing; it never breaks."""
    (core / "rows.csv").write_text("age,play\n1,yes\n2,no\n")
    done = subprocess.run([sys.executable, "-c", WALK], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    called = [json.loads(line) for line in done.stdout.splitlines() if re.match(r'\[\d+, "', line)]
    assert len(called) > 150
    assert [words for code, *words in called if code != 0 and (code != 2 or "--help" in words)] == [], done.stderr
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if "needs more packages" in line]
    assert lines
    for line in lines:
        assert re.search(r"\(\w+ is not installed\): \S*python\S* -m pip install 'smc-two-party\[\w+\]'$", line), line
