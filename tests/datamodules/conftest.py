"""What the tests of the corpora share: a cache of their own, and the real corpora where they are."""

import os
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


@pytest.fixture(scope="session")
def attest_data() -> Path:
    """The folder with the real corpora; tests that need it are skipped without."""
    folder = os.environ.get("ATTEST_DATA")
    if not folder:
        pytest.skip("ATTEST_DATA is not set: it names the folder with imdb/, sst/, 20news/ and conll2000/")
    return Path(folder)
