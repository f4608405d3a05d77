"""Those who have signed in to the page of a node that only pretends: a client, and a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.chromium import chromium
from tests.support.fake_node import Browser, FakeNode
from tests.support.site import Site


@pytest.fixture
def browser(node: FakeNode) -> Browser:
    return Browser(node)


@pytest.fixture(scope="module")
def shared_site() -> Iterator[Site]:
    with chromium() as browser:
        site = Site(browser)
        yield site
        site.server.stop()


@pytest.fixture
def site(shared_site: Site) -> Iterator[Site]:
    shared_site.begin()
    yield shared_site
    shared_site.end()
