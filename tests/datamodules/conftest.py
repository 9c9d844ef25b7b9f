"""What the tests of the corpora share: a cache of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("attest", deadline=None)  # a busy machine is no failure
settings.load_profile("attest")


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Prepared corpora go to a temporary folder, never to the user's own."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTEST_CACHE", str(folder))
        yield folder
