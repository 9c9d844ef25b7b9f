"""Numbers are held against their bounds by name, wherever they come from."""

import math

import numpy as np
import pytest

from attest.callbacks import AttentionPermutation, Experiment
from attest.core.bounds import AT_ONCE, require_bounds, require_finite
from attest.core.errors import AttestError
from attest.experiments.registry import chosen


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("permutations", 0, "a whole number from 1."),
        ("permutations", 2.5, "a whole number from 1."),
        ("texts", -1, "a whole number from 0."),
        ("seed", 2**32, "a whole number from 0 to 4294967295."),
        ("processes", AT_ONCE + 1, f"a whole number from 1 to {AT_ONCE}."),
        ("until", math.nan, "a finite number above 0."),
        ("until", math.inf, "a finite number above 0."),
        ("memory_gib", 0, "a finite number above 0."),
        ("epsilon", "small", "a finite number above 0."),
        ("memory_gib", True, "a finite number above 0."),
        ("seed", True, "a whole number from 0 to 4294967295."),
        ("seed", "1", "a whole number from 0 to 4294967295."),
        ("stride", 1.5, "a whole number from 0."),
    ],
)
def test_what_is_out_of_bounds_is_refused(name, value, expected):
    with pytest.raises(AttestError) as refused:
        require_bounds({name: value}, "--{}".format)
    assert str(refused.value) == f"--{name} is {value!r}; expected {expected} Give another number."


def test_the_ends_of_bounds_and_what_has_none_pass():
    require_bounds({"seed": 2**32 - 1, "texts": 0, "permutations": np.int64(1), "processes": AT_ONCE, "until": 1e-9})
    require_bounds({"processes": None, "colour": -1})


def test_infinite_settings_are_found_however_deep(refusal):
    require_finite({"model": {"lr": 0.1, "name": "nan"}})
    with refusal():
        require_finite({"model": {"optimizer": {"lr": math.nan}}})


def test_settings_of_experiments_have_bounds_in_python_too(refusal):
    with refusal():
        chosen({"E2": {"permutations": 0}})
    with refusal():
        chosen({"E2": {"permutations": None}})
    for callback in (AttentionPermutation(permutations=-3), Experiment("E12", draws=0)):
        with refusal():
            callback.setup(None, None, "fit")
