"""Channels that do damage on the way."""

from __future__ import annotations

from collections.abc import Callable

from smc.channel import Buffer, Channel

Damage = Callable[[bytes], bytes]


class Damaged(Channel):
    """What arrives under one step goes through `damage`, which may change everything but the length."""

    def __init__(self, inner: Channel, step: str, damage: Damage) -> None:
        self._inner = inner
        self._step = step
        self._damage = damage

    def send(self, step: str, payload: Buffer) -> None:
        self._inner.send(step, payload)

    def receive(self, step: str, size: int) -> Buffer:
        payload = self._inner.receive(step, size)
        return self._damage(bytes(payload)) if step == self._step else payload
