"""Python's search for garbage is put off, and comes back."""

import gc

import pytest

from attest.compute.garbage import collected_later


def test_nothing_is_searched_inside_and_everything_again_afterwards():
    with collected_later():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_comes_back_after_an_error():
    with pytest.raises(KeyError), collected_later():
        raise KeyError
    assert gc.isenabled()


def test_where_it_was_off_it_stays_off():
    gc.disable()
    try:
        with collected_later():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
