"""Labels as anyone may give them: class numbers, or one sentence."""

from enum import Enum

import numpy as np
import pandas as pd
import pytest
import torch

from attest.core.errors import AttestError
from attest.core.labels import by_name, class_names, class_numbers, doubt, names_of

NAMES = ["bad", "good", "mixed"]


class Name(str, Enum):  # noqa: UP042 - a StrEnum is written as its value already
    BAD, GOOD = "bad", "good"


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, 1],
        (0, 1, 1),
        iter([0, 1, 1]),
        [0.0, 1.0, 1.0],
        ["bad", "good", "good"],
        [Name.BAD, Name.GOOD, Name.GOOD],
        ["BAD", "Good", "good "],
        ["0", "1", "1.0"],
        np.array([0, 1, 1], dtype=np.uint8),
        [b"bad", b"good", b"good"],
        torch.tensor([0.0, 1.0, 1.0], dtype=torch.bfloat16),
        torch.tensor([[0], [1], [1]]),
        [torch.tensor(0), torch.tensor(1), torch.tensor(1)],
        pd.Series([0, 1, 1], index=[2, 0, 1]),
        pd.Series([0, 1, 1], dtype="Int64"),
        pd.Series(["bad", "good", "good"], dtype="category"),
    ],
)
def test_labels_of_many_kinds_are_the_same_classes(labels):
    found = class_numbers(labels, (3,), NAMES)
    assert found.tolist() == [0, 1, 1]
    assert found.dtype == np.int64


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1],
        [0, 1, 3],
        [0, 1, -1],
        [0, 1, -100],
        [0, 1, 10**30],
        [0.7, 0.2, 1.0],
        [0.0, float("inf"), 1.0],
        [0, None, 1],
        pd.Series([0, None, 1], dtype="Int64"),
        ["bad", float("nan"), None],
        [[1, 0, 0], [0, 1, 0], [0, 1, 0]],
        [["bad"], ["good", "mixed"], []],
        ["bad", "dull", "good"],
        ["bad", 1, "good"],
        "bad",
        3,
        np.array(1),
        {0: "bad"},
        {"bad", "good"},
        pd.DataFrame({"label": [0, 1, 1]}),
        [False, True, True],
    ],
)
def test_whatever_else_is_one_sentence(labels, refusal):
    with refusal():
        class_numbers(labels, (3,), NAMES)


def test_what_is_to_be_ignored_is_minus_100_and_no_other_number(refusal):
    assert class_numbers([[0, -100], [2, 1]], (2, 2), classes=3, partly=True).tolist() == [[0, -100], [2, 1]]
    for wrong in ([-1], [3]):
        with refusal():
            class_numbers(wrong, (1,), classes=3, partly=True)


def test_names_are_compared_exactly_first_and_whatever_their_case_where_that_is_enough(refusal):
    assert by_name({"us", "US"}, ["us", "US"], "") == {"us": 0, "US": 1}
    with refusal():
        by_name({"us", "Us"}, ["us", "US"], "")
    assert by_name({"cafe\u0301"}, ["bar", "caf\u00e9"], "") == {"cafe\u0301": 1}


def test_numbers_of_a_file_that_begin_at_1_have_two_readings(refusal):
    stars = ["1 star", "2 stars", "3 stars"]
    with refusal():
        by_name({"1", "2"}, stars, "Say which.")
    with refusal():
        by_name({"1", "2", "3"}, stars, "")
    assert by_name({"0", "2"}, stars, "") == {"0": 0, "2": 2}
    assert by_name({"1", "2", "3"}, ["1", "2", "3"], "") == {"1": 0, "2": 1, "3": 2}, "names are read first"
    with refusal():
        by_name({"0", "1", "2"}, ["1", "2", "3"], "")
    with pytest.raises(AttestError, match="does not know: 0; expected only the names 1 star, 2 stars, 3 stars"):
        by_name({"0"}, stars, "Give an answer.", numbered=False)


def test_numbers_that_are_names_of_other_classes_have_two_readings(refusal):
    with refusal():
        class_numbers([0, 1], (2,), ["1", "2"])
    assert class_numbers([0, 1], (2,), ["0", "1"]).tolist() == [0, 1]


def test_numbers_in_python_without_a_0_are_doubted():
    assert doubt(np.array([1, 2]), NAMES).startswith("No label is 0. Labels are counted from 0, so 1 is 'good'")
    assert doubt(np.array([0, 2]), NAMES) is None
    assert doubt(np.array([1, 1]), NAMES) is None, "texts of one class"


def test_every_class_has_a_name_of_its_own(refusal):
    assert names_of(np.array(NAMES)) == names_of(pd.Series(NAMES)) == tuple(NAMES)
    assert names_of(None) == ()
    assert names_of([1, 2]) == ("1", "2")
    for names in (["bad", "bad"], ["bad", " "]):
        with pytest.raises(AttestError, match="empty or occur twice"):
            names_of(names)
    for given in ("bad", {0: "bad"}, {"bad"}):
        with refusal():
            names_of(given)


class Config:
    num_labels = 2

    def __init__(self, id2label):
        self.id2label = id2label


def test_the_classes_of_a_model_are_counted_from_0(refusal):
    assert class_names(Config({1: "good", 0: "bad"})) == ["bad", "good"]
    with pytest.raises(AttestError, match="are empty or occur twice: 'bad'"):
        class_names(Config({0: "bad", 1: "bad"}))
    with refusal():
        class_names(Config({1: "bad", 2: "good"}))
