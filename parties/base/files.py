"""Reading and writing of files: errors in one clear line, and files that appear whole or not at all."""

from __future__ import annotations

import fcntl
import json
import math
import os
import re
import secrets
import stat
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from smc.errors import InputError

IN_TOKEN = "pkcs11:"  # beginning of the name of a key in a token, which is not a file: `token_key`
HELD_SECONDS, HELD_POLL_SECONDS = 10.0, 0.02  # seconds to wait for another process that holds a folder
MOST_DIGITS = 300  # most digits of a whole number in JSON: any such number is a finite float too


def read_bytes(path: Path, max_bytes: int = -1) -> bytes:
    """Return the content of a file or pipe.

    Args:
        path: The file.
        max_bytes: Number of first bytes to read; -1 reads all.

    Raises:
        InputError: The file is missing or cannot be read.
    """
    try:
        refuse_device(path)
        with path.open("rb") as stream:
            return stream.read(max_bytes)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: {_reason(error)}") from error


def is_in_token(path: Path) -> bool:
    """Return whether the path is a key in a token instead of a file."""
    return str(path).startswith(IN_TOKEN)


def refuse_device(path: Path) -> None:
    """Raise InputError for a device that is not a terminal: /dev/zero, for example, never ends."""
    with suppress(OSError, ValueError):  # the reader reports why a file cannot be read
        if not stat.S_ISCHR(path.stat().st_mode):
            return
        with path.open("rb") as stream:
            if not stream.isatty():
                raise InputError(f"cannot read {path}: it is a device, not a file; give a file")


def require_regular(path: Path) -> None:
    """Raise InputError for an existing path that is not a regular file: reading a pipe without a writer never ends."""
    with suppress(OSError, ValueError):  # the reader reports why a file cannot be read
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            kinds = {stat.S_IFIFO: "pipe", stat.S_IFDIR: "folder", stat.S_IFSOCK: "socket"}
            what = kinds.get(stat.S_IFMT(mode), "device")
            raise InputError(f"cannot read {path}: it is a {what}, not a file; tables are read more than once")


def read_private(path: Path) -> bytes:
    """Return the content of a file that only its owner may read, such as a key; raise InputError if others may."""
    data = read_bytes(path)
    ensure_private(path)
    return data


def stamp(path: Path) -> tuple[int, int, int]:
    """Return a value that differs after a file was written or replaced; raise OSError if the file is missing."""
    state = path.stat()
    return state.st_ino, state.st_mtime_ns, state.st_size


def ensure_private(path: Path) -> None:
    """Raise InputError if a file is missing, or if others than its owner may read it."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: {_reason(error)}") from error
    if stat.S_IMODE(mode) & 0o077:
        raise InputError(f"{path} can be read by other users; run: chmod 600 {path}")


OTHER = {  # files that are no table of ours, by their first bytes
    "a spreadsheet or an archive": rb"PK\x03\x04|\xd0\xcf\x11\xe0",
    "HTML or XML": rb"(\xef\xbb\xbf)?\s*<(\?xml|!doctype|!--|html|table|stata_dta|rows|root)",
    "a PDF": rb"%PDF-",
    "a compressed file": rb"BZh|\xfd7zXZ|\x28\xb5\x2f\xfd|7z\xbc\xaf",
    "an SQLite database": rb"SQLite format 3",
    "a file of SPSS": rb"\$FL[23]@",
    "a file of SAS": rb"\x00{12}\xc2\xea\x81\x60|HEADER RECORD\*{7}LIB",
    "an Arrow, ORC or Avro file": rb"ARROW1|ORC|Obj\x01",
}


def refuse_other(path: Path, start: bytes) -> None:
    """Raise InputError if a file that should hold a table is of a kind that is known by its first bytes.

    Args:
        path: The file, for the message.
        start: First bytes of the file.
    """
    if (kind := next((kind for kind, pattern in OTHER.items() if re.match(pattern, start)), None)) is not None:
        raise InputError(f"{path}: this is {kind}; save the table as CSV or Parquet")
    if re.match(rb'(\xef\xbb\xbf)?\s*(\{\s*["}]|\[\s*[\[{])', start):
        raise InputError(f"{path}: this is JSON; save the table as CSV or Parquet")


def decode(path: Path, data: bytes, first: int = 1, start: int = 0, remedy: str = "save the file as UTF-8") -> str:
    """Return the UTF-8 text of `data`, without a byte order mark.

    Args:
        path: the file, for messages.
        data: its bytes, or some lines of them.
        first: the line of the file that they begin with.
        start: their offset in the file.
        remedy: the end of the message about bytes that are not UTF-8.

    Raises:
        InputError: the bytes are not UTF-8, or one is NUL; the message names the line.
    """
    try:
        text = data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + first
        raise InputError(
            f"{path}, line {line}: not UTF-8 (byte 0x{error.object[error.start]:02x} at offset {start + error.start}); "
            f"{remedy}"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + first
        raise InputError(f"{path}, line {line}: a NUL byte; this is not a text file")
    return text


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file. Raise InputError if it cannot be read or decoded."""
    return decode(path, read_bytes(path))


def read_toml(path: Path) -> dict[str, Any]:
    """Return the table in a TOML file; raise InputError with the line of a syntax error."""
    return parse_toml(read_text(path), path)


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """Return the table that a TOML text holds.

    Args:
        text: The TOML.
        path: Its file, for messages.

    Raises:
        InputError: The text is not TOML; the message has the line.
    """
    try:
        table = tomllib.loads(text)
        str(table)  # a hexadecimal number may have any length, but Python does not print it in a message
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not valid TOML: {str(error).replace(chr(10), ' ')}") from None
    except ValueError:  # Python limits the digits of a number
        raise InputError(f"{path}: not valid TOML: a number is too long") from None
    except RecursionError:
        raise InputError(f"{path}: not valid TOML: nested too deeply; use fewer levels") from None
    return table


def check_addition(path: Path, text: str) -> None:
    """Raise InputError if a TOML file would be invalid after an addition.

    Args:
        path: The file, for the message.
        text: Content of the file with the addition.
    """
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: nothing can be added ({error}); write its tables as [tables.NAME]") from None


def read_json(path: Path, **hooks: Any) -> Any:
    """Return the document of a JSON file.

    Words outside JSON, such as NaN, and numbers of more than `MOST_DIGITS` digits are refused.

    Args:
        path: The file.
        hooks: Arguments of `json.loads`.

    Raises:
        InputError: The file cannot be read or is not JSON; the message has the line of a syntax error.
    """
    text = read_text(path)
    try:
        return json.loads(text, **{"parse_constant": _no_number, "parse_int": _whole, "parse_float": _real, **hooks})
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {error.lineno}: the file is not valid JSON: {error.msg}") from None
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    except RecursionError:
        raise InputError(f"{path}: nested too deeply; use fewer levels") from None


def _no_number(word: str) -> Any:
    raise ValueError(f"not valid JSON: {word} is no number there")


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError("not valid JSON: a number is too long")
    return int(digits)


def _real(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"not valid JSON: the number {digits[:20]} is too large")
    return number


def write_text(path: Path, text: str, private: bool = False) -> None:
    """Replace a file by UTF-8 text.

    Args:
        path: The file.
        text: New content of the file.
        private: Only the owner may read it.
    """
    write_bytes(path, text.encode(), private)


def write_json(path: Path, document: object) -> None:
    """Replace a file by an indented JSON document.

    Args:
        path: The file.
        document: A JSON value.
    """
    write_text(path, json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def write_bytes(path: Path, data: bytes, private: bool = False) -> None:
    """Replace a file by bytes, completely or not at all.

    Args:
        path: The file.
        data: New content of the file.
        private: Only the owner may read it.
    """
    with replacing(path, private) as stream:
        stream.write(data)


def create_private(path: Path, data: bytes) -> None:
    """Create a file that only its owner can read at any moment, such as a key; never overwrite a file.

    Args:
        path: The new file.
        data: Content of the file.

    Raises:
        InputError: The file exists, or cannot be written.
    """
    temporary = path.with_name(f".smc-{secrets.token_hex(8)}.tmp")
    try:
        try:
            if not path.parent.is_dir():
                raise NotADirectoryError(0, f"there is no directory {path.parent}")
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            os.link(temporary, path)  # unlike a rename, it fails if the name is taken
            with suppress(OSError):  # some file systems cannot
                settle(path.parent)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {path}: {_reason(error)}") from error


def settle(folder: Path) -> None:
    """Flush the names in a folder to the disk, so that a power cut restores no old ones; raise OSError on failure."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold a lock on a folder during the block, if the file system supports it; other processes wait for a while.

    Raise InputError if another process keeps the lock longer; any process that may read the folder can hold it.
    """
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise InputError(f"cannot open {folder}: {_reason(error)}") from error
    try:
        deadline = time.monotonic() + HELD_SECONDS
        with suppress(OSError):
            while not _is_taken(handle):
                if time.monotonic() > deadline:
                    raise InputError(f"another process has locked {folder} for {HELD_SECONDS:g} s; try again later")
                time.sleep(HELD_POLL_SECONDS)
        yield
    finally:
        os.close(handle)


def _is_taken(handle: int) -> bool:
    """Try to take the lock on an open file, and return whether this process got it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def ensure_absent(path: Path) -> None:
    """Raise InputError if the file exists, as `create_private` would."""
    if os.path.lexists(path):
        raise InputError(f"cannot write {path}: {_reason(FileExistsError())}")


@contextmanager
def replacing(path: Path, private: bool = False) -> Iterator[IO[bytes]]:
    """Open a stream whose bytes replace a file in one step: readers see the old file or the new one.

    The bytes go to a temporary file in its folder, are flushed to the disk, and then take its name. An error leaves the
    old file untouched. Links are followed. An existing file keeps its permissions unless `private`. Devices and pipes
    are written directly.

    Args:
        path: The file to replace.
        private: Only the owner may read it.

    Raises:
        InputError: The file cannot be written.
    """
    try:
        descriptor = _descriptor(path)
        if descriptor is not None:
            sys.stdout.flush()
            with open(os.dup(descriptor), "wb") as stream:
                yield stream
            return
        if _is_stream(path):
            with path.open("wb") as stream:
                yield stream
            return
        target = Path(os.path.realpath(path))
        temporary = _name_beside(target)
        try:
            handle = _create(temporary)  # inside the block: a signal may come as soon as the file exists
            with open(handle, "wb") as stream:
                if private:
                    os.fchmod(handle, 0o600)
                elif target.exists():
                    os.fchmod(handle, stat.S_IMODE(target.stat().st_mode))
                yield stream
                stream.flush()
                os.fsync(handle)
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:
        raise InputError(f"cannot write {path}: {_reason(error)}") from error


def seen_from(folder: Path, path: Path) -> str:
    """Return a path relative to a folder.

    Args:
        folder: The folder; links are resolved.
        path: The path; links to its folder are resolved.
    """
    return os.path.relpath(os.path.join(os.path.realpath(path.parent), path.name), os.path.realpath(folder))


def lock(path: Path) -> IO[bytes]:
    """Lock a file for this process until it is closed or the process ends; raise InputError if another process has it.

    Only the owner may read the file, because every reader could lock it.
    """
    try:
        held = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb")
        os.fchmod(held.fileno(), 0o600)
    except OSError as error:
        raise InputError(f"cannot open {path}: {_reason(error)}") from error
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        held.close()
        raise InputError(f"{path.parent} is in use by another node: stop it first, or name another state") from None
    return held


def check_outputs(outputs: Mapping[str, Path | None], inputs: Iterable[Path | None]) -> None:
    """Check all outputs before long work.

    Args:
        outputs: The files to write, by their flags.
        inputs: The files that the command reads.

    Raises:
        InputError: An output cannot be written, would overwrite an input, or is another output too.
    """
    taken = {os.path.realpath(path): "an input" for path in inputs if path is not None}
    for flag, path in outputs.items():
        if path is None:
            continue
        ensure_writable(path)
        real = os.path.realpath(path)
        if _descriptor(path) is None and not _is_stream(path) and real in taken:
            raise InputError(
                f"{flag}: {path} is {taken[real]} of this command and would be overwritten; name another file"
            )
        taken[real] = f"{flag} too, an output"


def would_be_replaced(path: Path) -> bool:
    """Return whether a new file would replace an existing one; False for /dev/stdout, which is written directly."""
    return path.is_file() and _descriptor(path) is None


def make_directory(directory: Path) -> None:
    """Make a directory and its parents, unless they are there. Raise InputError if that fails."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the directory {directory}: {error.strerror}") from error


def ensure_writable(path: Path) -> None:
    """Raise the `InputError` that `write_bytes` would raise, before long work on its result.

    It creates and removes a temporary file, because only the file system knows all its reasons to refuse.
    """
    try:
        if _descriptor(path) is not None or _is_stream(path):
            return
        temporary = _name_beside(Path(os.path.realpath(path)))
        try:
            os.close(_create(temporary))
        finally:
            temporary.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot write {path}: {_reason(error)}") from error


def _name_beside(target: Path) -> Path:
    """Return the name of a new file beside `target` that can later replace it; raise OSError if that is impossible."""
    if target.is_dir():
        raise IsADirectoryError
    if not target.parent.is_dir():
        raise NotADirectoryError(0, f"there is no directory {target.parent}")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError  # a rename would circumvent the write protection of the file itself
    return target.parent / f".smc-{secrets.token_hex(8)}.tmp"


def _create(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)


def _descriptor(path: Path) -> int | None:
    """Return the number of the open file that a path such as /dev/stdout names; None for any other path.

    Such a file is written directly: whoever reads it would not see a new file in its place.
    """
    if match := re.fullmatch(r"/dev/fd/(\d+)|/proc/self/fd/(\d+)", str(path)):
        return int(match[1] or match[2])
    return {"/dev/stdout": 1, "/dev/stderr": 2}.get(str(path))


def _is_stream(path: Path) -> bool:
    """Return whether `path` is a device, pipe or socket, such as /dev/stdout."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _reason(error: OSError | ValueError) -> str:
    """Return a short text for an error of the operating system."""
    match error:
        case FileNotFoundError():
            return "there is no such file"
        case FileExistsError():
            return "File exists, and it is never written over"
        case IsADirectoryError():
            return "it is a directory"
        case PermissionError():
            return "permission denied"
        case OSError():
            return error.strerror or "the system refused"
        case _:
            return str(error)
