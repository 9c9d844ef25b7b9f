"""The list of errors follows the code: each can still be made, and the tests that must notice it are there."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from benchmarks.mutants import PASSED, ROOT, Mutant, copied, mutants, outcome

MINE = "tests/benchmarks/test_mutants.py::test_what_lags_behind_the_code_is_named[changed0]"


@cache
def text_of(path: str) -> str | None:
    """The text of a file of the repository; None if there is no such file."""
    return (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).is_file() else None


def lags(mutant: Mutant) -> Iterator[str]:
    """What keeps an error of the list from being made, or from being noticed by its tests."""
    sound = text_of(mutant.file)
    if sound is None:
        yield f"{mutant.name}: there is no file {mutant.file}"
    else:
        try:
            if mutant.broken(sound) == sound:
                yield f"{mutant.name}: the new text is the old one"
        except ValueError as error:
            yield str(error)
    if not mutant.tests.split():
        yield f"{mutant.name}: it names no test"
    for test in mutant.tests.split():
        path, _, case = test.partition("::")
        function = case.partition("[")[0]
        if text_of(path) is None:
            yield f"{mutant.name}: there is no file {path}"
        elif function and f"def {function}(" not in str(text_of(path)):
            yield f"{mutant.name}: there is no test {test}"


def test_every_listed_error_can_be_made_and_has_its_tests():
    assert len(mutants()) > 200
    found = [each for mutant in mutants() for each in lags(mutant)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"file": "attest/gone.py"}, "there is no file attest/gone.py"),
        ({"old": "nowhere"}, "'nowhere' stands 0 times in benchmarks/mutants.py; expected once."),
        ({"new": "PASSED, FAILED = 0, 1"}, "the new text is the old one"),
        ({"tests": ""}, "it names no test"),
        ({"tests": "tests/gone.py::test_a"}, "there is no file tests/gone.py"),
        ({"tests": "tests/benchmarks/test_mutants.py::test_every[a]"}, "there is no test"),
    ],
)
def test_what_lags_behind_the_code_is_named(changed, said):
    listed = Mutant("it", "benchmarks/mutants.py", "PASSED, FAILED = 0, 1", "PASSED, FAILED = 1, 0", MINE)
    assert not [*lags(listed)]
    (found,) = lags(replace(listed, **changed))
    assert found.startswith("it: ")
    assert said in found


def test_a_list_that_lags_behind_the_code_is_refused():
    with pytest.raises(ValueError, match=r"gone: 'x = 2' stands 0 times in a.py; expected once"):
        Mutant("gone", "a.py", "x = 2", "x = 3", "tests/test_a.py").broken("x = 1")


def test_a_copy_holds_the_rooms_to_which_the_package_links(tmp_path):
    tree = copied(tmp_path)
    for room in ("callbacks", "configs", "datamodules", "lightning_modules"):
        assert (tree / "attest" / room).resolve() == tree / room
        assert any((tree / room).iterdir())


@pytest.mark.whole("another pytest")
def test_tests_of_a_copy_import_its_benchmarks_and_not_those_that_run_them(tmp_path):
    for name, content in {
        "benchmarks/__init__.py": "",
        "benchmarks/of_the_copy.py": "VALUE = 1",
        "tests/test_it.py": "from benchmarks.of_the_copy import VALUE\n\n\ndef test_it():\n    assert VALUE == 1\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    assert outcome("tests/test_it.py", tmp_path) == PASSED
