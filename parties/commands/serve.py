"""`smc serve`: a model as an HTTP service."""

from __future__ import annotations

import ssl
import threading
from pathlib import Path

import click

from parties.base import console, files, keyfile
from parties.base.address import Address, require_free
from parties.commands.options import TABLE
from parties.commands.own_table import spelled
from parties.commands.signature import command, option
from parties.link.identity import load_identity
from parties.models.load import load_any
from parties.party_file import load
from smc.errors import InputError

SHORTEST = 20  # least characters of a token


@command("serve", "smc serve --model tree.json --config party.toml --port 8400")
def serve(
    model_file: Path = option("Trees or a model, as for smc predict."),
    schema_file: Path | None = option("Schema: requests contain raw cells of its types."),
    config_file: Path | None = option("party.toml: requests contain raw cells, spelled as in its table."),
    table: str | None = TABLE,
    host: str = option(
        "Address to listen at. If other machines can reach it, give --token-file and TLS too  [127.0.0.1]",
        default="127.0.0.1",
    ),
    port: int = option("Port to listen at; 0 = any free port  [8400]", click.IntRange(0, 65535), default=8400),
    token_file: Path | None = option(
        "File with the secret TOKEN. Each request must send Authorization: Bearer TOKEN.", flag="--token-file"
    ),
    identity: Path | None = option("Private key for TLS  [link.identity of --config, if --host is not this machine]"),
    certificate: Path | None = option("Certificate for TLS, which callers must trust  [link.certificate, likewise]"),
    socket_file: Path | None = option("Unix socket to listen at instead, for your user alone."),
) -> None:
    """Serve a model over HTTP: POST /predict returns its predictions. By default only this machine can connect.

    Send {"rows": [{"COLUMN": VALUE, ...}, ...]}. Predictions are the same as those of smc predict. /openapi.json
    describes the service. Rows are neither stored nor logged. Ctrl-C or SIGTERM stops it.
    """
    address = Address(host, port)
    elsewhere = socket_file is None and not address.is_local
    if elsewhere and token_file is None:
        raise InputError(f"--host: {host} is reachable from other machines; give --token-file, or listen at 127.0.0.1")
    if socket_file is not None and (identity or certificate):
        raise InputError("--socket: a Unix socket has no TLS; remove --identity and --certificate")
    if socket_file is None:
        require_free(str(address))
    mapped = spelled(schema_file, config_file, table)
    token = None if token_file is None else _token(token_file)
    file = None if config_file is None else load(config_file)
    if elsewhere and file is not None and identity is None and certificate is None:
        identity, certificate = file.link.identity, file.link.certificate
    tls = _tls(identity, certificate)
    if elsewhere and tls is None:
        raise InputError(
            f"--host: token and rows would travel to {host} unencrypted; give --identity and --certificate for TLS, "
            "or --config with both, or listen at 127.0.0.1 or a --socket"
        )
    model = load_any(model_file)
    from parties.deployed.columns import asked
    from parties.deployed.service import Predictor, make_app
    from parties.web.server import WebServer

    app = make_app(Predictor(model, asked(model, schema_file, mapped)), token)
    server = WebServer(address, app, not elsewhere, "the model", tls, socket_file)
    try:
        server.start()
        where = f"{'http' if tls is None else 'https'}://{server.address}" if socket_file is None else str(socket_file)
        console.err.print(f"predictions of {model.target} at {where}/predict")
        threading.Event().wait()
    except KeyboardInterrupt:  # SIGTERM too
        pass
    finally:
        server.stop()


def _tls(identity: Path | None, certificate: Path | None) -> ssl.SSLContext | None:
    """Return TLS 1.3 settings with this key and certificate; None without both. Raise InputError if they cannot be
    used.
    """
    if identity is None and certificate is None:
        return None
    if identity is None or certificate is None:
        raise InputError(
            f"--{'certificate' if identity else 'identity'} is missing: TLS needs --identity and --certificate"
        )
    if not load_identity(identity, certificate).is_in_files:
        raise InputError(f"--identity: the key of {certificate} is in a token; give a key in a file for TLS")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, identity, keyfile.passphrase(identity))
    return context


def _token(path: Path) -> str:
    """Return the secret in a file; raise InputError if it is too short, or not printable ASCII without blanks."""
    files.ensure_private(path)
    token = files.read_text(path).strip()
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(
            f"{path}: a token has at least {SHORTEST} letters, digits or signs on one line, without spaces; write one"
        )
    return token
