"""A node that only pretends, and a client that has signed in to its page."""

from __future__ import annotations

import pytest

from tests.support.fake_node import Browser, FakeNode


@pytest.fixture
def node() -> FakeNode:
    return FakeNode()


@pytest.fixture
def browser(node: FakeNode) -> Browser:
    return Browser(node)
