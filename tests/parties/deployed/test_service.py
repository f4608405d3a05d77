"""A model over HTTP: the same predictions as `smc predict`, and one line for whatever is wrong."""

from __future__ import annotations

import csv
import json
import logging
import re
import signal
import socket
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from parties import cli
from parties.deployed import service
from parties.deployed.columns import asked
from parties.link.identity import create
from parties.models.load import load_any
from parties.party_file import load
from parties.web.server import WebServer
from tests.support import deployed
from tests.support.places import ENVIRONMENT
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

TOKEN = "a-token-of-many-letters"


def client(model: Path, config: Path | None = None, token: str | None = None) -> TestClient:
    table = None if config is None else load(config).tables["rows"]
    app = service.make_app(service.Predictor(loaded := load_any(model), asked(loaded, None, table)), token)
    return TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)


def lines(path: Path) -> list[dict[str, str]]:
    with path.open() as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("name", deployed.DATA)
def test_the_same_as_predict(name: str, tmp_path: Path) -> None:
    rows = deployed.frame(name)
    model, table = deployed.written(tmp_path, deployed.learnt(rows, deployed.DATA[name], "tree"), rows)
    answer = client(model).post("/predict", json={"rows": lines(table)})
    assert answer.json() == {"target": deployed.DATA[name], "predictions": deployed.said(model, table)}


@pytest.mark.parametrize("kind", ["tree", "boosted", "linear", "number"])
def test_raw_rows(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As text, and as numbers and null, by the mapping of a table."""
    document = deployed.typed_tree() if kind == "tree" else deployed.typed_model(kind)
    model, table = deployed.written(tmp_path, document, deployed.typed_rows())
    config = deployed.configured(tmp_path)
    flag = "--tree" if kind == "tree" else "--model"
    assert cli.run(["predict", flag, str(model), "--config", str(config), "--json"]) == 0
    expected = json.loads(capsys.readouterr().out)["predictions"]
    rows = lines(table)
    typed = [
        row | {name: float(row[name]) if row[name] else None for name in ("age", "pay")} | {"came": row["came"] or None}
        for row in rows
    ]
    http = client(model, config)
    assert http.post("/predict", json={"rows": rows}).json()["predictions"] == expected
    assert http.post("/predict", json={"rows": typed}).json()["predictions"] == expected


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the model is, and a configuration."""
    place = tmp_path_factory.mktemp("typed")
    deployed.written(place, deployed.typed_model("linear"), deployed.typed_rows(2))
    deployed.configured(place)
    return place


@pytest.fixture(scope="module")
def typed(place: Path) -> TestClient:
    return client(place / "model.json", place / "party.toml")


FIT = {"age": 30, "pay": 20.5, "town": "a"}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "not valid JSON"),
        (b'{"rows": [{"age": NaN}]}', "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"\xff", "not valid JSON"),
        (b"[]", 'must be {"rows"'),
        ({"rows": [FIT], "more": 1}, 'must be {"rows"'),
        ({"rows": [FIT, 3]}, "row 2: must be an object"),
        ({"rows": [FIT, {"age": 1, "pay": 2}]}, "row 2: the column 'town' is missing"),
        ({"rows": [FIT, {**FIT, "age": "many"}]}, "row 2, column 'age': 'many' is not a number"),
        ({"rows": [{**FIT, "age": True}]}, "row 1, column 'age': 'true' is not a number"),
        ({"rows": [{**FIT, "age": [1]}]}, "row 1, column 'age': must be a text, a number, true, false or null"),
        ({"rows": [{**FIT, "town": None}]}, "row 1, column 'town': no value"),
        ({"rows": [{**FIT, "age": "\ud800"}]}, "row 1, column 'age'"),
    ],
)
def test_bad_rows_are_a_line(
    typed: TestClient, body: Any, words: str, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = typed.post("/predict", content=body if isinstance(body, bytes) else json.dumps(body).encode())
    assert answer.status_code == 400
    assert words in answer.json()["error"]
    assert not caplog.records
    assert capsys.readouterr() == ("", "")


def test_bounds(typed: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MAX_ROWS", 2)
    assert typed.post("/predict", json={"rows": [FIT] * 3}).status_code == 400
    monkeypatch.setattr(service, "MAX_BODY", 10)
    assert typed.post("/predict", json={"rows": [FIT]}).status_code == 413
    assert typed.post("/predict", json={"rows": []}).status_code == 413


def test_who_may_ask(typed: TestClient, place: Path) -> None:
    body = {"rows": [FIT]}
    assert typed.post("/predict", json=body).status_code == 200
    assert typed.post("/predict", json=body, headers={"host": "evil.example"}).status_code == 403
    assert typed.post("/predict", json=body, headers={"origin": "http://evil.example"}).status_code == 403
    locked = client(place / "model.json", place / "party.toml", TOKEN)
    for path in ("/", "/health", "/openapi.json"):
        assert locked.get(path).status_code == 401
    assert locked.post("/predict", json=body, headers={"authorization": f"Bearer {TOKEN}x"}).status_code == 401
    asked = locked.post("/predict", json=body, headers={"authorization": f"Bearer {TOKEN}", "host": "a.example"})
    assert asked.json()["predictions"] == typed.post("/predict", json=body).json()["predictions"]


def test_what_it_says_of_itself(typed: TestClient) -> None:
    document = typed.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert document["components"]["schemas"]["Row"]["required"] == ["age", "pay", "town"]
    assert typed.get("/health").json() == {"status": "ok", "target": "ill"}
    assert "<li>town</li>" in typed.get("/").text
    assert typed.get("/predict").status_code == 405
    assert typed.get("/nothing").json() == {"error": "there is no such path"}


def test_what_goes_wrong_inside_says_nothing_of_a_row(
    typed: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("private")

    monkeypatch.setattr(service, "predicted", broken)
    with caplog.at_level(logging.DEBUG):
        answer = typed.post("/predict", json={"rows": [FIT]})
    assert answer.status_code == 500
    assert "private" not in answer.text + caplog.text


def test_beyond_this_machine_only_with_a_token(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, _ = deployed.written(tmp_path, deployed.typed_model("linear"), deployed.typed_rows(2))
    words = ["serve", "--model", str(model), "--port", "0", "--host", "0.0.0.0"]
    assert cli.run(words) == 2
    assert "give --token-file" in capsys.readouterr().err
    token = tmp_path / "token"
    token.write_text("short\n")
    token.chmod(0o600)
    assert cli.run([*words, "--token-file", str(token)]) == 2
    assert "a token has at least" in capsys.readouterr().err
    token.write_text(f"{TOKEN}\n")
    token.chmod(0o644)
    assert cli.run([*words, "--token-file", str(token)]) == 2
    assert "chmod 600" in capsys.readouterr().err


@pytest.mark.parametrize("given", ["flags", "config"])
def test_beyond_this_machine_it_speaks_tls_alone(
    given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, table = deployed.written(tmp_path, deployed.typed_model("linear"), deployed.typed_rows(2))
    config = deployed.configured(tmp_path)
    token, own = tmp_path / "token", create("anna", ["127.0.0.1"], tmp_path)
    token.write_text(f"{TOKEN}\n")
    token.chmod(0o600)
    words = ["serve", "--model", str(model), "--port", "0", "--host", "0.0.0.0", "--token-file", str(token)]
    assert cli.run([*words, "--config", str(config)]) == 2
    assert "unencrypted; give --identity and --certificate" in capsys.readouterr().err
    assert cli.run([*words, "--identity", str(own.key_path)]) == 2
    assert "TLS needs --identity and --certificate" in capsys.readouterr().err
    pair = {"identity": own.key_path, "certificate": own.certificate_path}
    if given == "config":
        link = "".join(f'{name} = "{path}"\n' for name, path in pair.items())
        config.write_text(f"{config.read_text()}\n[link]\n{link}")
        words += ["--config", str(config)]
    else:
        words += [word for name, path in pair.items() for word in (f"--{name}", str(path))] + ["--config", str(config)]
    answers = []

    def ask(server: WebServer) -> None:
        real(server)
        url, trusted = (
            f"127.0.0.1:{server.address.port}/predict",
            ssl.create_default_context(cafile=own.certificate_path),
        )
        said = {"json": {"rows": lines(table)}, "headers": {"Authorization": f"Bearer {TOKEN}"}, "timeout": PATIENCE}
        answers.append(httpx.post(f"https://{url}", verify=trusted, **said).status_code)
        with pytest.raises(httpx.HTTPError):
            httpx.post(f"http://{url}", **said)
        raise KeyboardInterrupt

    real = WebServer.start
    monkeypatch.setattr(WebServer, "start", ask)
    assert cli.run(words) == 0
    assert answers == [200]


def test_a_unix_socket_is_this_users_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, table = deployed.written(tmp_path, deployed.typed_model("linear"), deployed.typed_rows(2))
    path = tmp_path / "s"
    words = ["serve", "--model", str(model), "--config", str(deployed.configured(tmp_path)), "--socket", str(path)]
    answers = []

    def ask(server: WebServer) -> None:
        real(server)
        assert path.stat().st_mode & 0o777 == 0o600
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(path))) as caller:
            answers.append(caller.post("http://localhost/predict", json={"rows": lines(table)}).status_code)
        raise KeyboardInterrupt

    real = WebServer.start
    monkeypatch.setattr(WebServer, "start", ask)
    with socket.socket(socket.AF_UNIX) as left:  # by a process that was killed
        left.bind(str(path))
    assert cli.run(words) == 0
    assert answers == [200]
    assert not path.exists()
    path.write_text("a file")
    assert cli.run(words) == 2
    assert path.read_text() == "a file"


def test_a_taken_port_is_told_before_the_model_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert cli.run(["serve", "--model", "none.json", "--port", str(other.getsockname()[1])]) == 2
    assert "Address already in use" in capsys.readouterr().err


@pytest.mark.slow
def test_a_process_until_it_is_told_to_stop(tmp_path: Path) -> None:
    model, table = deployed.written(tmp_path, deployed.typed_model("linear"), deployed.typed_rows(2))
    words = ["-m", "parties.cli", "serve", "--model", str(model), "--config", str(deployed.configured(tmp_path))]
    with subprocess.Popen(
        [sys.executable, *words, "--port", "0"], env=ENVIRONMENT, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            url = re.search(r"http://\S+", process.stderr.readline())
            assert url is not None
            answer = httpx.post(url[0], json={"rows": lines(table)}, timeout=PATIENCE)
            assert len(answer.json()["predictions"]) == 2
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
            assert process.stderr.read() == ""
        finally:
            process.kill()
