"""Backup of a node in one file: its state, and the files that its party.toml names, but no rows of tables.

The copy of a running node is consistent: the database is copied as of one moment, and the copy of the whole state is
checked like the state itself. If the node wrote between two files, the copy is taken again.

The file is a ZIP archive, encrypted on request (`sidecar_files`). Its manifest has the digest of each other file.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from parties import party_file
from parties.base import files
from parties.base.settings import required
from parties.base.temporary import HeldDirectory
from parties.link.identity import fingerprint, read_certificate
from parties.node import records, settings
from parties.node.log import integrity
from parties.node.records import Evidence, Head, database, marker, sealed, sidecar_files
from parties.node.records.chain import Checked
from parties.node.settings import NodeFile
from parties.operator.accounts import FILE_NAME as ACCOUNTS
from smc import __version__
from smc.errors import InputError

PARTY_FILE, MANIFEST = "party.toml", "manifest.json"
ROWS = ("source", "files", "data", "file")  # keys of party.toml for rows of tables, and for the shipped log
TRIES = 3  # to copy the state of a node that writes meanwhile


class Manifest(BaseModel):
    """Contents of a backup: the log's last entry, and the SHA-256 digest of each file by its name in the archive."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    format: Literal[1] = 1
    release: str
    at: str
    head: Head
    files: dict[str, str]


class Backup(NamedTuple):
    """A backup: its manifest, the files of party.toml by path, and the files of the state directory by name."""

    manifest: Manifest
    named: dict[str, bytes]
    state: dict[str, bytes]


class Restored(NamedTuple):
    """The result of a restoration: files that were written, and others that existed already with other content."""

    written: list[Path]
    kept: list[Path]


def take(config: Path) -> tuple[Manifest, bytes]:
    """Return the manifest and the bytes of a new backup; the node may be running.

    Args:
        config: The party.toml of the node.

    Raises:
        InputError: There are no records, or they are not whole.
    """
    state = party_file.state_directory(config)
    contents = {f"named/{name}": files.read_bytes(path) for name, path in _named(config).items()}
    for _ in range(TRIES):
        with HeldDirectory("backup") as folder:
            _copy(state, Path(folder))
            checked = _checked(config, Path(folder))
            if not checked.problems:
                contents |= {f"state/{name}": data for name, data in _state_files(Path(folder)).items()}
                break
    else:
        raise InputError(f"the records in {state} are not whole, so there is no backup: {checked.problems[0]}")
    last = max(checked.hashes, default=0)
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}
    head = Head(number=last, hash=checked.hashes.get(last, "0" * 64))
    at = datetime.now(UTC).isoformat(timespec="seconds")
    manifest = Manifest(release=__version__, at=at, head=head, files=digests)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {MANIFEST: manifest.model_dump_json().encode(), **contents}.items():
            archive.writestr(name, data)
    return manifest, stream.getvalue()


def read(path: Path, word: str = "") -> Backup:
    """Return a backup after a check of all digests.

    Args:
        path: The file.
        word: Its passphrase; empty: it is looked up.

    Raises:
        InputError: The file is not a backup, or was changed.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(sidecar_files.read_backup(path, word))) as archive:
            contents = {name: archive.read(name) for name in archive.namelist()}
        manifest = Manifest.model_validate_json(contents.pop(MANIFEST))
    except (zipfile.BadZipFile, KeyError, ValidationError, ValueError, NotImplementedError, EOFError):
        raise InputError(f"{path} is not a backup of smc, or was changed; take another one") from None
    if {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()} != manifest.files:
        raise InputError(f"{path}: a file in it is not what its manifest says; take another backup")
    parts: dict[str, dict[str, bytes]] = {"named": {}, "state": {}}
    for name, data in contents.items():
        folder, _, rest = name.partition("/")
        if folder not in parts or (folder == "state" and not _is_of_state(rest)):
            raise InputError(f"{path}: {name} is not a file of a backup; take another one")
        parts[folder][rest] = data
    return Backup(manifest, parts["named"], parts["state"])


def restore(backup: Backup, config: Path, refuse_older: Callable[[NodeFile, Checked], None]) -> Restored:
    """Write the missing files of a node; never write over a file, and write the database last.

    An error leaves no new file.

    Args:
        backup: The backup.
        config: The party.toml of the node, also if it is missing.
        refuse_older: Raises InputError if a peer has seen a later entry of the log.

    Raises:
        InputError: There are records already, or the backup does not fit party.toml, is not whole, or is too old.
    """
    written: list[Path] = []
    kept: list[Path] = []

    def write(path: Path, data: bytes) -> None:
        if not path.exists():
            files.make_directory(path.parent)
            files.create_private(path, data)
            written.append(path)
        elif files.read_bytes(path) != data:
            kept.append(path)

    try:
        write(config, backup.named[PARTY_FILE])
        known = {path.absolute() for path in party_file.named_files(config)}
        for name, data in backup.named.items():
            path = config if name == PARTY_FILE else config.parent / name
            if path.absolute() in known:
                write(path, data)
        file = settings.load(config)
        place = file.node.state / database.FILE_NAME
        _refuse_present(place, backup)
        records.make_place(place)
        with files.lock(file.node.state / "lock"):
            with HeldDirectory("backup") as folder:
                for name, data in backup.state.items():
                    files.make_directory((Path(folder) / name).parent)
                    files.create_private(Path(folder) / name, data)
                staged = Path(folder) / database.FILE_NAME
                if sealed.is_sealed(staged):
                    sealed.know(staged, sealed.passphrase(place)[0])
                checked = _checked(config, Path(folder))
            if checked.problems:
                raise InputError(f"the backup's records are not whole: {checked.problems[0]}; take another backup")
            refuse_older(file, checked)
            for name, data in sorted(backup.state.items(), key=lambda item: item[0] == database.FILE_NAME):
                write(file.node.state / name, data)
    except BaseException:
        for path in written:
            with suppress(OSError):
                path.unlink()
        raise
    return Restored(written, kept)


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


def _refuse_present(place: Path, backup: Backup) -> None:
    """Raise InputError if a state directory has records already, or a part of them."""
    state = place.parent
    if not any(state.glob(f"{place.name}*")) and not any((state / name).exists() for name in backup.state):
        return
    present = "without a log that can be read"
    with suppress(InputError), database.reading(place) as connection:
        present = f"up to entry {database.last_number(connection)}"
    raise InputError(
        f"{state} has records {present}, and the backup has them up to entry {backup.manifest.head.number}: keep the "
        f"newer ones; to restore the backup, stop the node and move the files of {state} away first"
    )


def _named(config: Path) -> dict[str, Path]:
    """Return party.toml and the existing files that it names, by path; passphrases are not among them."""
    state = party_file.state_directory(config).absolute()
    found = {PARTY_FILE: config}
    for path in party_file.named_files(config, skipped=ROWS)[1:]:
        if path.is_file() and state not in path.absolute().parents:
            found[files.seen_from(config.parent, path)] = path
    return found


def _state_files(state: Path) -> dict[str, bytes]:
    paths: Iterator[Path] = (path for path in sorted(state.rglob("*")) if path.is_file())
    names: Mapping[str, Path] = {path.relative_to(state).as_posix(): path for path in paths}
    return {name: files.read_bytes(path) for name, path in names.items() if _is_of_state(name)}


def _is_of_state(name: str) -> bool:
    folder, _, rest = name.rpartition("/")
    if folder == sidecar_files.ARCHIVES:
        return rest.endswith(".jsonl") and not rest.startswith(".")
    return name in (database.FILE_NAME, ACCOUNTS, marker.FILE_NAME)


def _copy(state: Path, target: Path) -> None:
    """Copy a state directory; the marker first, so that it names an entry of the copied log."""
    if not (state / database.FILE_NAME).is_file():
        raise InputError(f"there are no records: {state / database.FILE_NAME} does not exist")
    (target / sidecar_files.ARCHIVES).mkdir()
    for name, data in _state_files(state).items():
        if name != database.FILE_NAME:
            files.create_private(target / name, data)
    database.copy_file(state / database.FILE_NAME, target / database.FILE_NAME)


def _checked(config: Path, state: Path) -> Checked:
    link: Any = party_file.load(config).link
    owner = read_certificate(required(link.certificate, "link.certificate"))
    peers = [read_certificate(path) for path in party_file.peer_files(config)]
    with database.reading(state / database.FILE_NAME) as connection:
        return integrity.verify(connection, owner, peers, state)
