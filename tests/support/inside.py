"""What only a process itself knows of its memory, put down each second for who soaks it: see `tests.support.soak`."""

from __future__ import annotations

import ctypes
import json
import sys
import threading
import time
from pathlib import Path

FILE = "inside.json"
FIELDS = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"


class _MallInfo(ctypes.Structure):
    """The result of glibc's mallinfo2, of all arenas together."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in FIELDS.split())


def inside() -> dict[str, float]:
    """Return the thousands of blocks in use by Python's small objects, and MB in use of what malloc gives."""
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = _MallInfo
    info = mallinfo2()
    return {"blocks": sys.getallocatedblocks() / 1e3, "malloc": (info.uordblks + info.hblkhd) / 1e6}


def begin() -> None:
    """Put it down in the present directory from now on."""
    path = Path.cwd() / FILE

    def work() -> None:
        while True:
            new = path.with_suffix(".new")
            new.write_text(json.dumps({name: round(value, 1) for name, value in inside().items()}))
            new.replace(path)
            time.sleep(1)

    threading.Thread(target=work, name="inside", daemon=True).start()
