"""`smc serve`: a model that other programs ask over HTTP."""

from __future__ import annotations

import threading
from pathlib import Path

import click

from parties.base import console, files
from parties.base.address import Address, require_free
from parties.commands.options import FILE, TABLE
from parties.commands.own_table import chosen
from parties.models.load import load_any
from parties.party_file import load
from smc.errors import InputError

SHORTEST = 20  # letters of a token


@click.command("serve", epilog="Example:  smc serve --model tree.json --config party.toml --port 8400")
@click.option("--model", "model_file", type=FILE, required=True, help="Trees or a model, as `smc predict` takes them.")
@click.option("--schema", "schema_file", type=FILE, help="Cells are raw, as this schema's types have them.")
@click.option("--config", "config_file", type=FILE, help="Cells are as raw as those of a table of this party.toml.")
@TABLE
@click.option("--host", default="127.0.0.1", help="Where to listen; beyond this machine only with a token  [127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), default=8400, help="0 takes any free port  [8400]")
@click.option("--token-file", type=FILE, help="A secret that requests must bring, as Authorization: Bearer TOKEN.")
def serve(
    model_file: Path,
    schema_file: Path | None,
    config_file: Path | None,
    table: str | None,
    host: str,
    port: int,
    token_file: Path | None,
) -> None:
    """Answer POST /predict with predictions of a model, on this machine only. No row is kept, or written to a log.

    It takes {"rows": [{"COLUMN": VALUE, ...}, ...]}, and says of rows what `smc predict` says. /openapi.json describes
    it. Ctrl-C or SIGTERM ends it.
    """
    address = Address(host, port)
    if not address.is_local and token_file is None:
        raise InputError(f"--host: {host} is not this machine alone: give --token-file, or listen at 127.0.0.1")
    require_free(str(address))
    if schema_file is not None and config_file is not None:
        raise InputError("--schema: the tables of --config have theirs; give one of the two")
    if table is not None and config_file is None:
        raise InputError("--table: names a table of --config, which is missing")
    token = None if token_file is None else _token(token_file)
    model = load_any(model_file)
    tables = {} if config_file is None else load(config_file).tables
    mapped = None if config_file is None else tables[chosen(table, tables)]
    from parties.deployed.columns import asked
    from parties.deployed.service import Predictor, make_app
    from parties.web.server import WebServer

    app = make_app(Predictor(model, asked(model, schema_file, mapped)), token)
    server = WebServer(address, app, loopback_only=token is None, what="the model")
    try:
        server.start()
        console.err.print(f"predictions of {model.target} at http://{server.address}/predict")
        threading.Event().wait()
    except KeyboardInterrupt:  # SIGTERM too
        pass
    finally:
        server.stop()


def _token(path: Path) -> str:
    """Return the secret in a file. `InputError` if it is none."""
    files.ensure_private(path)
    token = files.read_text(path).strip()
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(f"{path}: a token is one line of {SHORTEST} letters and digits or more, without spaces")
    return token
