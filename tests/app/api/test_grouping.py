"""What the user knows of each text, and how it comes into the table of the texts."""

import numpy as np
import pandas as pd
import pytest

import attest
from attest.app.api.grouping import groups_of, with_groups
from attest.app.cli.demo import MODEL, TEXTS
from attest.core.errors import AttestError
from attest.datamodules.forms import Form
from attest.datamodules.instances import FileOptions
from attest.datamodules.labelled import labelled


def test_a_column_holds_numbers_if_all_its_values_can_be_read_as_numbers():
    rows = pd.DataFrame({"id": [0, 2, 1]})
    groups = {"source": ["news", "forum", None], "year": ["1999", None, "2001.5"], "fresh": [True, False, True]}
    found = with_groups(rows, groups, "id")
    assert found["group_source"].tolist() == ["news", None, "forum"]
    assert found["group_year"].tolist()[:2] == [1999.0, 2001.5]
    assert pd.isna(found["group_year"][2])
    assert found["group_fresh"].tolist() == ["True", "True", "False"]


def test_one_value_for_each_text_is_expected():
    assert groups_of(None, 3, False) == {}
    with pytest.raises(AttestError, match="has 2 values of 'source' for 3 texts"):
        groups_of({"source": ["a", "b"]}, 3, False)
    with pytest.raises(AttestError, match="together with batches"):
        groups_of({"source": ["a", "b", "c"]}, 3, True)


@pytest.mark.parametrize(
    "groups",
    [
        ["a", "b", "b"],
        pd.DataFrame({"source": ["a", "b", "b"]}),
        np.array(["a", "b", "b"], dtype=object),
        3,
        {"source": {"a", "b", "c"}},
        {"source": {0: "a", 1: "b", 2: "b"}},
        {"source": "abb"},
        {"source": None},
        {"source": np.zeros((3, 2))},
    ],
    ids=["list", "frame", "array", "number", "a set", "a dictionary", "a string", "nothing", "a table"],
)
def test_what_gives_no_value_for_each_text_is_refused(groups, refusal):
    """A set has no order, and a dictionary and a string were read as their keys and their letters."""
    with refusal():
        groups_of(groups, 3, False)


def test_values_come_in_any_form_with_an_order():
    values = ["a", "b", "b"]
    for form in (tuple(values), iter(values), np.array(values), pd.Series(values, index=[2, 1, 0]), pd.Categorical(values)):
        assert groups_of({"source": form}, 3, False) == {"source": values}


def test_a_trial_keeps_them_beside_its_texts():
    reviews = pd.read_csv(TEXTS).head(4)
    found = attest.trial(
        str(MODEL), reviews["text"], {"E2": {"permutations": 3}}, groups={"source": ["a", "b", "b", "a"]}, progress=False
    )
    assert found.table("instances")["group_source"].tolist() == ["a", "b", "b", "a"]


def test_a_column_of_a_file_is_kept_for_the_texts_that_are_drawn(tmp_path):
    rows = pd.DataFrame(
        {"text": [f"text {k}" for k in range(9)], "label": ["a", "b", "c"] * 3, "source": [f"s{k}" for k in range(9)]}
    )
    rows.to_csv(tmp_path / "mine.csv", index=False)
    read = labelled(str(tmp_path / "mine.csv"), "test", 4, FileOptions(form=Form(), groups=("source",)))
    assert read.groups == {"source": [text.replace("text ", "s") for text in read.texts]}
    with pytest.raises(AttestError, match="have no column 'sourcs'; expected one of: text, label, source"):
        labelled(str(tmp_path / "mine.csv"), "test", 4, FileOptions(form=Form(), groups=("sourcs",)))
    with pytest.raises(AttestError, match="sst is a corpus, whose texts have no column 'source'"):
        labelled("sst", "test", 4, FileOptions(form=Form(), groups=("source",)))
