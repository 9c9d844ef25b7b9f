"""Whatever text is given to ``attest explain``, there is an explanation and a page, or a readable sentence."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attest.app.evaluating import LoadedRun, configuration_of
from attest.core.errors import AttestError
from attest.report.explained import print_explained, write_explained

CHARACTERS = st.characters(exclude_categories=[])
"""Halves of surrogate pairs too, which a terminal's bytes that are no UTF-8 become."""
WORDS = st.sampled_from(
    ["the", "movie", "was", "not", "dull", "<script>alert(1)</script>", "[bold]", "{{ config }}", "\x1b[31m"]
)
TEXTS = st.one_of(st.text(CHARACTERS, max_size=40), st.lists(WORDS, max_size=8).map(" ".join))


@pytest.fixture(scope="module")
def loaded(small_run) -> LoadedRun:
    """With network and data in memory."""
    run = LoadedRun(configuration_of(small_run), small_run)
    with run.prepared():
        return run


@pytest.mark.whole("many generated texts")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXTS)
def test_no_text_whatever_makes_more_than_a_readable_error(loaded, tmp_path_factory, text):
    page = tmp_path_factory.getbasetemp() / "explained.html"
    with suppress(AttestError):
        explained = loaded.explained(1, text)
        attention = explained["instances/attention"]
        assert len(attention) == len(explained["tokens"]) > 0
        assert np.isclose(attention.sum(), 1, atol=1e-5)
        write_explained(page, [explained], "a run")
        print_explained([explained])
        assert "<script>alert" not in page.read_text(encoding="utf-8")
