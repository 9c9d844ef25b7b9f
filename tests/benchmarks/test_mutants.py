"""The list of errors follows the code: each can still be made, and the tests that must notice it are there."""

import pytest

from benchmarks.mutants import ROOT, Mutant, copied, mutants


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant.name)
def test_every_listed_error_can_be_made_and_has_its_tests(mutant):
    sound = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert mutant.broken(sound) != sound
    for test in mutant.tests.split():
        path, _, case = test.partition("::")
        function = case.partition("[")[0]
        assert (ROOT / path).is_file(), test
        assert f"def {function}" in (ROOT / path).read_text(encoding="utf-8"), test


def test_a_list_that_lags_behind_the_code_is_refused():
    with pytest.raises(ValueError, match=r"gone: 'x = 2' stands 0 times in a.py; expected once"):
        Mutant("gone", "a.py", "x = 2", "x = 3", "tests/test_a.py").broken("x = 1")


def test_a_copy_holds_the_rooms_to_which_the_package_links(tmp_path):
    tree = copied(tmp_path)
    for room in ("callbacks", "configs", "datamodules", "lightning_modules"):
        assert (tree / "attest" / room).resolve() == tree / room
        assert any((tree / room).iterdir())
