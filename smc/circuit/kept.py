"""Cache of built circuits: building takes microseconds a gate. `recent` and `keep` copy it to another process."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from functools import wraps
from typing import ParamSpec

from smc.circuit.netlist import Netlist

MOST = 1 << 10  # largest number of cached circuits of a process

Name = tuple[Hashable, ...]  # module and name of the function, and its arguments
Parameters = ParamSpec("Parameters")

_built: OrderedDict[Name, Netlist] = OrderedDict()  # least recently used circuit first
_lock = threading.Lock()


def kept(build: Callable[Parameters, Netlist]) -> Callable[Parameters, Netlist]:
    """Cache the circuits that a module-level function builds from hashable arguments.

    Examples:
        >>> from smc.circuit import Builder
        >>> @kept
        ... def negation(width):
        ...     builder = Builder()
        ...     builder.output(~builder.input(width))
        ...     return builder.build()
        >>> negation(8) is negation(8)
        True
    """

    @wraps(build)
    def found(*arguments: Parameters.args, **named: Parameters.kwargs) -> Netlist:
        name = build.__module__, build.__qualname__, arguments, tuple(named.items())
        with _lock:
            netlist = _built.pop(name, None)
        netlist = build(*arguments, **named) if netlist is None else netlist
        keep({name: netlist})
        return netlist

    return found


def keep(circuits: Mapping[Name, Netlist]) -> None:
    """Add circuits to the cache. This process, or another process with equal code, has built them."""
    with _lock:
        _built.update(circuits)
        while len(_built) > MOST:
            _built.popitem(last=False)


def recent(most: int) -> dict[Name, Netlist]:
    """Return the most recently used circuits, at most `most` of them."""
    with _lock:
        return dict([*_built.items()][-most:])
