"""What the report says of attention whose truth is known."""

import pandas as pd
import pytest

from attest.report.findings import pools
from attest.report.truth import sentence


def texts(*masses: float) -> pd.DataFrame:
    return pd.DataFrame({"attention": [[mass, 1 - mass] for mass in masses], "rationale": [[True, False]] * len(masses)})


def test_it_says_how_much_lies_on_the_deciding_tokens():
    said = sentence(texts(1.0, 0.9, 0.5, 0.0)).replace("\N{NO-BREAK SPACE}", " ")
    assert said == (
        "Here the tokens that decide the label are known. In the average text 60 % of the attention lies on them. "
        "Attention is right (at least 90 % on them) in 50 % of texts and wrong (at most 10 %) in 25 %."
    )


@pytest.mark.parametrize("rows", [None, texts(1.0).drop(columns="rationale"), texts(1.0).drop(columns="attention")])
def test_it_is_silent_where_the_truth_is_not_known(rows):
    assert sentence(rows) is None


def test_rollout_is_no_attention_that_pools():
    inside = {"experiments": {"instances": {"init_args": {"explanation": "rollout"}}}}
    assert (pools(inside), pools({}), pools({"experiments": {"instances": {}}})) == (False, True, True)
