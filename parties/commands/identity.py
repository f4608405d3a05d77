"""`smc identity`: creation and display of keys and certificates."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import click

from parties.base import console, files
from parties.base.files import is_in_token
from parties.base.report import Report
from parties.base.settings import required
from parties.commands.node_options import node_of
from parties.commands.options import FILE, FOLDER, find_party_file, new_secret, node_config
from parties.commands.outputs import FORCE, check_new
from parties.commands.signature import argument, command, option, settings
from parties.link import tls
from parties.link.identity import (
    create,
    describe,
    fingerprint,
    load_certificate,
    load_identity,
    load_key,
    protect,
    refuse_present,
)
from parties.operator.client import NodeClient
from parties.party_file import load
from smc.errors import InputError

_PASSPHRASE_FILE: Any = click.option(
    "--passphrase-file", type=FILE, help="File whose first line is the new passphrase; - = standard input."
)


@click.group("identity", epilog="Example:  smc identity create clinic-a --out keys")
def group() -> None:
    """Make and show keys and certificates."""


@command("create", "smc identity create clinic-a --host a.example.org --out keys", group)
def create_command(
    name: str = argument(),
    hosts: tuple[str, ...] = option(
        "IP address or DNS name shown in the certificate, not checked on connecting; repeatable  [localhost]",
        flag="--host",
    ),
    encrypted: bool = option("Encrypt NAME.key with a passphrase; you type it twice.", flag="--passphrase"),
    passphrase_file: Path | None = _PASSPHRASE_FILE,
    token: Path | None = option("Use or make the key in this token (PKCS#11), without NAME.key.", "URI"),
    out: Path = option("Directory for the two files  [.]", FOLDER, default=Path()),
) -> None:
    """Make a private key, NAME.key, and its certificate.

    Keep NAME.key to yourself (mode 0600). Give NAME.crt to the peer. With --token
    'pkcs11:token=smc;object=NAME?module-path=/usr/lib/softhsm/libsofthsm2.so' the key is in that token; it is made
    there if it does not exist. Write that URI as `identity` in party.toml, in place of NAME.key.
    """
    is_encrypted = encrypted or passphrase_file is not None
    if token is not None and (is_encrypted or not is_in_token(token)):
        raise InputError(f"--token: {'excludes a passphrase' if is_encrypted else 'must be a URI, pkcs11:token=...'}")
    if is_encrypted:
        refuse_present(out / f"{name}.key", out / f"{name}.crt")
    passphrase = new_secret("passphrase", passphrase_file) if is_encrypted else None
    identity = create(name, hosts, out, passphrase=passphrase, token=token)
    origin = "made in its token" if identity.is_made else "was in its token already"
    where = f"{origin}, and stays there" if identity.token is not None else "stays on this machine"
    console.out.print(f"private key   {identity.key_path}   ({where})")
    console.out.print(f"certificate   {identity.certificate_path}   (give this file to the peer)")
    console.out.print(f"fingerprint   {fingerprint(identity.certificate)}")


@command("passphrase", "smc identity passphrase keys/clinic-a.key", group)
def passphrase_command(key: Path = argument(), passphrase_file: Path | None = _PASSPHRASE_FILE) -> None:
    """Encrypt a private key, or change its passphrase.

    Commands and nodes look for the passphrase in systemd's credential NAME.passphrase, then in the file NAME.passphrase
    beside the key. Else they ask at the terminal. Your backups keep the old form of the key.
    """
    if is_in_token(key):
        raise InputError(f"{key}: a key in a token has a PIN, not a passphrase; change it in the token")
    load_key(key)  # with the passphrase that it has, before a new one is asked for
    is_same = protect(key, new_secret("passphrase", passphrase_file))
    console.out.print(f"private key   {key}   (encrypted)")
    if not is_same:
        console.err.print(
            "the file was not PKCS#8 as smc writes it: from now on, different rows per person are chosen, and running "
            "jobs cannot continue with their rows"
        )


@command("succeed", "smc identity succeed new.crt --until 2026-12-31 --config party.toml --out a.next", group)
def succeed_command(
    certificate: Path = argument(),
    until: datetime = option("Last day on which peers accept your present certificate.", click.DateTime(["%Y-%m-%d"])),
    config_file: Path | None = node_config,
    out: Path = option("New file with the signed statement, for the peers."),
    force: bool = FORCE,
) -> None:
    """Sign that a new certificate replaces yours.

    Your present key signs the statement. The peer's operator enters the file as `successor` under [peer] or in
    [[peers]], and restarts the node. The node then trusts both certificates until the given day, and only the new one
    once it was used. Then continue your log with the new certificate: smc audit renew.
    """
    from parties.node.records.succession import succession

    path = find_party_file(config_file)
    check_new({"--out": out}, [certificate], path, force)
    link = load(path).link
    identity = load_identity(required(link.identity, "link.identity"), required(link.certificate, "link.certificate"))
    successor = load_certificate(certificate)
    if successor == identity.certificate:
        raise InputError(f"{certificate} is the present certificate; make a new one with smc identity create")
    files.write_text(out, succession(identity, successor, until.date()).model_dump_json(indent=2) + "\n")
    console.out.print(f"written       {out}   (give this file to the peers)")
    console.out.print(f"new           {fingerprint(successor)}")


@command("revoke", "smc identity revoke clinic-b --why 'its key was copied' --config party.toml", group)
def revoke_command(
    peer: str = argument(),
    why: str = option("Reason for the log; the peer does not see it.", default=""),
    node: NodeClient = settings(node_of),
) -> Report:
    """Revoke a peer's certificate at your running node.

    The link ends now and running sessions are cut. The node never opens a session with this certificate again, even
    after a restart. Enter a new certificate of the peer in --config. Earlier signatures stay valid.
    """
    report = Report(node.revoke(peer, why).model_dump(mode="json"))
    report.line(f"{peer}: its certificate is revoked; the link has ended")
    return report


@command("show", "smc identity show keys/clinic-a.crt", group)
def show_command(certificate: Path = argument()) -> Report:
    """Show a certificate: name, hosts, validity, fingerprint. Also the oldest TLS version of its links."""
    report = Report(describe(load_certificate(certificate)) | {"oldest_tls": tls.VERSION}, width=13)
    report.all_facts()
    return report
