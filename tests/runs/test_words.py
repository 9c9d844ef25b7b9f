"""Words are taken out of what was typed, and read as what they mean."""

import pytest

from attest.core.errors import AttestError
from attest.runs.choices import are_plain, take_words


def test_words_are_parted_from_everything_else_which_keeps_its_order():
    words, rest = take_words(["A", "SEEDS=3", "--x=1", "DATA=sst", "data=sst", "SEEDS=5"])
    assert words.typed == {"SEEDS": "5", "DATA": "sst"}
    assert rest == ["A", "--x=1", "data=sst"]


def test_those_that_are_not_meant_stay():
    words, rest = take_words(["SEEDS=3", "DATA=sst", "JOBS="], ("SEEDS", "JOBS"))
    assert words.typed == {"SEEDS": "3"}, "an empty word is not typed"
    assert rest == ["DATA=sst"]


def test_flags_counts_and_lists():
    words, _ = take_words(["DRY=1", "SEEDS=3", "LAMBDA=1,2,", "RUN=0"])
    assert (words.flag("DRY"), words.flag("RUN", otherwise=True), words.flag("SMOKE")) == (True, False, False)
    assert (words.count("SEEDS", 1), words.count("JOBS", 2)) == (3, 2)
    assert (words.listed("LAMBDA"), words.listed("DATA"), words.listed("ATTACK", "a")) == (("1", "2"), (), ("a",))


@pytest.mark.parametrize("typed", ["0", "-1", "two", "1.5", "²"])
def test_what_is_not_a_count_is_refused_with_what_to_type(typed):
    words, _ = take_words([f"SEEDS={typed}"])
    with pytest.raises(AttestError, match=rf"SEEDS={typed} is not a valid number; expected .* from 1 to 1000. .* SEEDS=3$"):
        words.count("SEEDS", 3)


def test_what_is_neither_yes_nor_no_is_refused(refusal):
    words, _ = take_words(["DRY=yes"])
    with refusal():
        words.flag("DRY")


def test_choices_numbers_and_where_a_run_lies_are_ours_and_files_and_classes_are_not():
    assert are_plain(["DATA=sst", "--trainer.max_epochs=3", "--run.root=a/b"])
    assert not any(
        are_plain(["DATA=sst", typed]) for typed in ("--config=a.yaml", "--model=mine.Network", "--data.init_args.x=a/b")
    )
