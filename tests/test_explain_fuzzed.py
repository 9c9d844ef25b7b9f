"""Whatever text is given to ``attest explain``, there is an explanation and a page, or a readable sentence."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attest.cli.evidence import configuration_of
from attest.cli.explain import ExplainCLI
from attest.errors import AttestError
from attest.report.explained import print_explained, write_explained

CHARACTERS = st.characters(exclude_categories=[])
"""Halves of surrogate pairs too, which a terminal's bytes that are no UTF-8 become."""
WORDS = st.sampled_from(
    ["the", "movie", "was", "not", "dull", "<script>alert(1)</script>", "[bold]", "{{ config }}", "\x1b[31m"]
)
TEXTS = st.one_of(st.text(CHARACTERS, max_size=40), st.lists(WORDS, max_size=8).map(" ".join))


@pytest.fixture(scope="module")
def explainer(small_run, tmp_path_factory) -> ExplainCLI:
    """With the network that it has loaded to explain a first text."""
    page = tmp_path_factory.mktemp("explain") / "first.html"
    with configuration_of(small_run) as configuration:
        return ExplainCLI(configuration, small_run, ["the movie was fine"], page)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXTS)
def test_no_text_whatever_makes_more_than_a_readable_error(explainer, tmp_path_factory, text):
    page = explainer.page.with_name("page.html")
    with suppress(AttestError):
        explained = explainer._explained(explainer.model, 1, text)
        attention = explained["instances/attention"]
        assert len(attention) == len(explained["tokens"]) > 0
        assert np.isclose(attention.sum(), 1, atol=1e-5)
        write_explained(page, [explained], "a run")
        print_explained([explained])
        assert "<script>alert" not in page.read_text(encoding="utf-8")
