"""What a table of several settings must say before its columns are compared."""

import pytest

from attest.app.cli.main import main
from attest.report.collection import notes, other_texts, settings_of
from attest.report.run_tables import as_latex, as_markdown
from attest.runs.identity import find_runs
from tests.report.made import decided, made_run

ROWS = decided([0, 1, 1], [0, 1, 0])


def settings(root):
    return settings_of(find_runs([root]))


@pytest.fixture
def mixed(tmp_path):
    """Settings a and b on the same texts with two seeds, c on fewer, d with another seed on those of a."""
    for seed, rows in ((0, ROWS), (1, ROWS.assign(length=4))):
        made_run(tmp_path / "x" / "a" / f"seed{seed}", {"test/accuracy": 0.5}, rows)
        made_run(tmp_path / "x" / "b" / f"seed{seed}", {"test/accuracy": 0.6}, rows)
    made_run(tmp_path / "x" / "c" / "seed0", {"test/accuracy": 0.7}, ROWS.iloc[:2])
    made_run(tmp_path / "x" / "d" / "seed7", {"test/accuracy": 0.8}, ROWS)
    return tmp_path


NOTE = "Not all settings were tested on the same texts. Compare numbers only inside a group: (1) a, b, d; (2) c."


def test_other_texts_are_told_by_seed(mixed):
    assert other_texts(settings(mixed)) == NOTE


def test_one_seed_on_other_texts_is_enough(mixed, snapshot):
    made_run(mixed / "x" / "b" / "seed1", {"test/accuracy": 0.6}, ROWS)
    found = settings(mixed / "x" / "a") + settings(mixed / "x" / "b")
    assert other_texts(found) == snapshot


def test_the_same_texts_need_no_note(mixed):
    assert other_texts(settings(mixed / "x" / "a") + settings(mixed / "x" / "b")) is None


def test_every_table_and_page_has_the_note(mixed, capsys):
    found = settings(mixed)
    assert as_markdown(found, ["test/accuracy"]).endswith(f" |\n\n{NOTE}\n")
    assert f"% {NOTE}\n" in as_latex(found, ["test/accuracy"])
    assert main(["table", str(mixed), "--format", "csv"]) == 0
    out, err = capsys.readouterr()
    assert err == f"Note: {NOTE}\n"
    assert NOTE not in out
    assert main(["report", str(mixed)]) == 0
    page = (mixed / "x" / "comparison.html").read_text()
    assert f"<strong>{NOTE}</strong>" in page
    assert "Not paired, since they were tested on different texts: a and c (seed 0); b and c (seed 0)." in page


def test_orders_of_erasing_that_flip_in_different_texts_are_not_compared(mixed, snapshot):
    found = settings(mixed / "x" / "a")
    assert notes(found, ["E12/fraction_attention", "E12/fraction_random/median", "E12/fraction_common_random"]) == snapshot
    assert notes(found, ["E12/fraction_attention", "E12/fraction_common_attention", "E12/fraction_common_random"]) == []
