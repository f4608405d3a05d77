"""Backup of a node in one file: its state, and the files that its party.toml names, but no rows of tables.

The copy of a running node is consistent: the database is copied as of one moment, and the copy of the whole state is
checked like the state itself. If the node wrote between two files, the copy is taken again.

The file is a ZIP archive, encrypted on request (`sidecar_files`). Its manifest has the digest of each other file. Files
of the state directory are in `state/`, the others in `named/` under their path from the folder of party.toml.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from parties import party_file
from parties.base import files
from parties.base.settings import required
from parties.base.temporary import HeldDirectory
from parties.base.text import quoted
from parties.link.identity import fingerprint, read_certificate
from parties.node import records, settings
from parties.node.log import integrity
from parties.node.records import Evidence, database, marker, sealed, sidecar_files
from parties.node.records.chain import Checked
from parties.node.settings import NodeFile
from parties.operator.accounts import FILE_NAME as ACCOUNTS
from smc.errors import InputError

PARTY_FILE, MANIFEST, NAMED, STATE = "party.toml", "manifest.json", "named/", "state/"
ROWS = ("source", "files", "data", "file")  # keys of party.toml for rows of tables, and for the shipped log
TRIES = 3  # to copy the state of a node that writes meanwhile


_MEMBER = re.compile(r"named/.+|state/(node\.sqlite|operators\.json|log\.json|archive/[^/]+\.jsonl)")


class Manifest(BaseModel):
    """Contents of a backup: the number of entries of the log, and the SHA-256 digest of each file by its name."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    format: Literal[1] = 1
    at: str
    entries: int
    files: dict[str, str]


class Backup(NamedTuple):
    """A backup: its manifest, and the content of each file by its name in the archive.

    `is_authentic`: only somebody who has the passphrase can have made it.
    """

    manifest: Manifest
    contents: dict[str, bytes]
    is_authentic: bool = False


def take(config: Path) -> Backup:
    """Return a new backup of the node of a party.toml, which may be running.

    Raise InputError if there are no records, or they are not whole.
    """
    state = party_file.state_directory(config)
    named = {NAMED + name: files.read_bytes(path) for name, path in _named(config, state).items()}
    for _ in range(TRIES):
        # the marker before the database, so that it names an entry of the copied log
        contents = named | {STATE + name: files.read_bytes(path) for name, path in _beside(state).items()}
        contents[STATE + database.FILE_NAME] = database.snapshot(state / database.FILE_NAME)
        checked = _checked(config, contents)
        if not checked.problems:
            break
    else:
        raise InputError(f"the records in {state} are not whole, so there is no backup: {checked.problems[0]}")
    last = max(checked.hashes, default=0)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return Backup(Manifest(at=at, entries=last, files=_digests(contents)), contents)


def write(path: Path, backup: Backup, word: str) -> None:
    """Write a backup to a file in one step.

    Args:
        path: The file.
        backup: The backup.
        word: The passphrase that encrypts it; empty for none.
    """
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {MANIFEST: backup.manifest.model_dump_json().encode(), **backup.contents}.items():
            archive.writestr(name, data)
    sidecar_files.write_backup(path, stream.getvalue(), word)


def read(path: Path, word: str = "") -> Backup:
    """Return a backup after a check of all digests.

    Args:
        path: The file.
        word: Its passphrase; empty: it is looked up.

    Raises:
        InputError: The file is not a backup, or was changed.
    """
    data = sidecar_files.read_backup(path, word)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            contents = {name: archive.read(name) for name in archive.namelist()}
        manifest = Manifest.model_validate_json(contents.pop(MANIFEST))
    except Exception:  # the library raises many kinds of errors
        raise InputError(f"{path} is not a backup of smc, or was changed; take another one") from None
    if _digests(contents) != manifest.files or not all(map(_MEMBER.fullmatch, contents)):
        raise InputError(f"{path}: a file in it is not what its manifest says; take another backup")
    return Backup(manifest, contents, is_authentic=sidecar_files.is_encrypted(files.read_bytes(path)))


def restore(
    backup: Backup, config: Path, refuse_older: Callable[[NodeFile, Checked], None]
) -> tuple[list[Path], list[Path]]:
    """Write the missing files of a node; never replace a file, and write the database last.

    An error leaves no new file.

    Args:
        backup: The backup.
        config: The party.toml of the node, also if it is missing.
        refuse_older: Raises InputError if a peer has seen a later entry of the log.

    Returns:
        The written files, and the existing files whose content differs.

    Raises:
        InputError: There are records already, or the backup does not fit party.toml, is not whole, or is too old. Or
            its own party.toml names a file outside its folder, and anybody can have made the backup.
    """
    trusted, folder = backup.is_authentic or config.exists(), config.parent.resolve()
    written: list[Path] = []
    kept: list[Path] = []

    def fill(path: Path, data: bytes) -> None:
        if not path.exists():
            files.make_directory(path.parent)
            files.create_private(path, data)
            written.append(path)
        elif files.read_bytes(path) != data:
            kept.append(path)

    named, beside = _of(NAMED, backup.contents), _of(STATE, backup.contents)
    try:
        fill(config, named.pop(PARTY_FILE))
        known = {path.absolute() for path in party_file.named_files(config)}
        for name, data in named.items():
            if (path := config.parent / name).absolute() not in known:
                continue
            if not trusted and not path.resolve().is_relative_to(folder):
                raise InputError(
                    f"the backup is not encrypted, and its party.toml names {quoted(name)} outside {config.parent}: "
                    "put your own party.toml there first, or restore an encrypted backup"
                )
            fill(path, data)
        file = settings.load(config)
        state = file.node.state
        _refuse_present(state, [*beside, f"{database.FILE_NAME}-wal"], backup.manifest.entries)
        records.make_place(state / database.FILE_NAME)
        with files.lock(state / "lock"):
            checked = _checked(config, backup.contents)
            if checked.problems:
                raise InputError(f"the backup's records are not whole: {checked.problems[0]}; take another backup")
            refuse_older(file, checked)
            log = beside.pop(database.FILE_NAME)
            for name, data in {**beside, database.FILE_NAME: log}.items():
                fill(state / name, data)
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        raise
    return written, kept


def refuse_seen(peer: str, held: Evidence | None, file: NodeFile, checked: Checked) -> None:
    """Raise InputError if a peer holds the head of a later log of ours than the restored one.

    Args:
        peer: Name of the peer.
        held: The head that it shows.
        file: Settings of the node.
        checked: The restored log.
    """
    own = read_certificate(required(file.link.certificate, "link.certificate"))
    if held is None or held.fingerprint != fingerprint(own) or not held.is_signed_by(own):
        return  # of a former certificate
    if held.head.number and checked.hashes.get(held.head.number) != held.head.hash:
        raise InputError(
            f"{peer} has seen entry {held.head.number} of this log, and the backup ends at entry "
            f"{max(checked.hashes, default=0)}: restore a newer backup; if there is none, add --older, and then both "
            "operators run smc audit accept-rollback"
        )


def _refuse_present(state: Path, names: list[str], number: int) -> None:
    """Raise InputError if a state directory has records already, or a part of them."""
    if not any((state / name).exists() for name in names):
        return
    present = "without a log that can be read"
    with suppress(InputError), database.reading(state / database.FILE_NAME) as connection:
        present = f"up to entry {database.last_number(connection)}"
    raise InputError(
        f"{state} has records {present}, and the backup has them up to entry {number}: keep the newer ones; to restore "
        f"the backup, stop the node and move the files of {state} away first"
    )


def _digests(contents: dict[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}


def _named(config: Path, state: Path) -> dict[str, Path]:
    """Return party.toml and the existing files that it names, by path; passphrases are not among them."""
    named = party_file.named_files(config, skipped=ROWS)[1:]
    inside = [path for path in named if path.is_file() and state.absolute() not in path.absolute().parents]
    return {PARTY_FILE: config} | {files.seen_from(config.parent, path): path for path in inside}


def _beside(state: Path) -> dict[str, Path]:
    archives = sorted((state / sidecar_files.ARCHIVES).glob("[!.]*.jsonl"))
    paths = [state / marker.FILE_NAME, state / ACCOUNTS, *archives]
    return {path.relative_to(state).as_posix(): path for path in paths if path.is_file()}


def _of(part: str, contents: dict[str, bytes]) -> dict[str, bytes]:
    return {name.removeprefix(part): data for name, data in contents.items() if name.startswith(part)}


def _checked(config: Path, contents: dict[str, bytes]) -> Checked:
    """Return the findings about the state in a backup, as `smc audit verify` would, on a copy."""
    owner = read_certificate(required(party_file.load(config).link.certificate, "link.certificate"))
    peers = [read_certificate(path) for path in party_file.peer_files(config)]
    with HeldDirectory("backup") as folder:
        for name, data in _of(STATE, contents).items():
            files.make_directory((path := Path(folder) / name).parent)
            files.create_private(path, data)
        if sealed.is_sealed(copy := Path(folder) / database.FILE_NAME):
            sealed.know(copy, sealed.passphrase(party_file.state_directory(config) / database.FILE_NAME)[0])
        with database.reading(copy) as connection:
            return integrity.verify(connection, owner, peers, Path(folder))
