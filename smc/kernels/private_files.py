"""Files that only this user or root could have written: whoever writes loaded machine code runs code as this user.

A file or folder that belongs to another user, that others may write, or that is a symbolic link, is never read and
never written. Files of root are an exception: all users read them.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Container
from contextlib import suppress
from pathlib import Path

# seconds to wait for another process that compiles; afterwards this process compiles without the lock
LOCK_SECONDS = 600.0
LOCK_POLL_SECONDS = 0.1
ROOT = 0  # user id of root, who installs for all users


class UnsafeError(Exception):
    """Error for a file or folder that is a symbolic link, or that other users own or can write."""


def _check(handle: int, path: Path, owners: Container[int]) -> None:
    """Raise UnsafeError unless one of these users owns the open file or folder and only its owner may write it."""
    status = os.fstat(handle)
    if status.st_uid not in owners:
        raise UnsafeError(f"{path} belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UnsafeError(f"{path} may be written by other users")


def _open(path: Path | str, flags: int, within: int | None = None) -> int:
    try:
        return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=within)
    except OSError as error:
        # Symbolic link: ELOOP, or ENOTDIR if a folder was requested.
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and stat.S_ISLNK(os.lstat(path, dir_fd=within).st_mode):
            raise UnsafeError(f"{path} is a symbolic link") from None
        raise


def read(directory: Path, name: str) -> bytes:
    """Return the content of a file that only this user or root could have written.

    The checks use the open folder and file, so no exchange is possible in between.

    Args:
        directory: The folder of the file.
        name: The file's name in it.

    Raises:
        UnsafeError: Folder or file is a symbolic link, belongs to another user, or may be written by other users.
        OSError: The file is missing or cannot be read.
    """
    folder = _open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        handle = _open(name, os.O_RDONLY | os.O_NONBLOCK, folder)
        with os.fdopen(handle, "rb") as file:
            owners = (os.geteuid(), ROOT)  # root can run code as this user anyway
            _check(folder, directory, owners)  # checked now: a folder without the file does not matter
            _check(handle, directory / name, owners)
            return file.read()
    finally:
        os.close(folder)


def open_folder(directory: Path) -> int:
    """Open a folder to write in, and create it if it is missing.

    Raises:
        UnsafeError: The folder is a symbolic link, belongs to another user, or may be written by other users.
        OSError: The folder cannot be made or opened.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = _open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _check(folder, directory, (os.geteuid(),))  # not root's: a lock in root's folder would delay every other user
    except BaseException:
        os.close(folder)
        raise
    return folder


def write(directory: Path, name: str, data: bytes) -> None:
    """Write a file atomically.

    Args:
        directory: The folder of the file; made if it is missing.
        name: The file's name in it; an existing file is replaced.
        data: The content.

    Raises:
        UnsafeError: The folder is a symbolic link, belongs to another user, or may be written by other users.
        OSError: The file cannot be written.
    """
    os.close(open_folder(directory))
    handle, temporary = tempfile.mkstemp(dir=directory, prefix=f".{name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, directory / name)
    except OSError:
        os.unlink(temporary)
        raise


def lock(folder: int) -> None:
    """Take the lock, or continue without it after `LOCK_SECONDS`, when the other process probably hangs."""
    deadline = time.monotonic() + LOCK_SECONDS
    while time.monotonic() < deadline:
        with suppress(BlockingIOError):
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(LOCK_POLL_SECONDS)
