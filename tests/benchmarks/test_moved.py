"""What moved is found in two folders made by hand: to the last bit, by its size, and nothing else."""

import json
import math
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.moved import Move, ending, main, of_case, printed, told
from benchmarks.moved_cases import CASES, FAILED
from benchmarks.moved_compared import Compared, compare, line_moved, lines

WEIGHTS = [[0.25, 0.75], [1.0], [0.5, math.nan]]
TABLE = {"id": [0, 1, 2], "tau": [0.5, math.nan, 0.25], "weights": WEIGHTS, "text": ["a", "b", "c"]}
SUMMARY = {"E1/tau/mean": 0.375, "verdict": {"answer": "no", "texts": 3}, "nothing": None}
PAGE = """<html><style>p {{ color: red }}</style><h1>May I?</h1>
<p>In {share} % of texts.</p>
<p>{sentence}</p>
<svg><text>{drawn}</text></svg>
<table><thead><tr><th scope="col">Reading</th><th scope="col">seconds a text</th></tr></thead>
<tbody><tr><th scope="row">attention</th><td>{seconds}</td></tr></tbody></table>
<table class="bars"><tr><td>{seconds}</td></tr></table><footer>Attest {version}</footer></html>"""


def made(folder: Path, table=TABLE, summary=SUMMARY, variant="0123abcd", **page: str) -> Path:
    """A run as a case leaves it."""
    run = folder / "runs" / "planted" / f"jw-bilstm-{variant}" / "seed0"
    (run / "evidence").mkdir(parents=True)
    pd.DataFrame(table).to_parquet(run / "evidence" / "E1.parquet")
    (run / "summary.json").write_text(json.dumps(summary | {"place": str(folder)}))
    (run / "timing.json").write_text(json.dumps({"seconds": str(folder)}))
    given = {"share": "12.5", "sentence": "It does not.", "drawn": "0", "seconds": "1", "version": "1"} | page
    (run / "report.html").write_text(PAGE.format(**given))
    return folder


@pytest.fixture
def before(tmp_path) -> Path:
    return made(tmp_path / "before")


def moves(before: Path, after: Path) -> list[tuple[str, str]]:
    return [(move.where.removeprefix("jw-bilstm/"), move.what) for move in compare(before, after).moves]


def test_times_places_pictures_and_the_code_in_a_name_are_no_move(before, tmp_path):
    after = made(tmp_path / "other", variant="fedc9876", drawn="9", seconds="7", version="2")
    assert compare(before, after) == Compared(columns=4, pages=1)


def test_the_last_bit_of_a_number_is_a_move(before, tmp_path):
    last = math.nextafter(0.25, 1)
    after = made(tmp_path / "after", TABLE | {"tau": [0.5, math.nan, last]})
    assert moves(before, after) == [("E1 · tau", f"1 of 3 rows, by at most 5.55e-17 (2.2e-14 %); row 2: 0.25 is now {last!r}")]


def test_numbers_in_lists_and_the_sign_of_zero_move_too(before, tmp_path):
    table = TABLE | {"tau": [0.5, math.nan, 0.75], "weights": [[0.25, 0.5], [1.0], [0.5]], "text": ["a", "x", "c"]}
    assert moves(before, made(tmp_path / "after", table)) == [
        ("E1 · tau", "1 of 3 rows, by at most 0.5 (67 %); row 2: 0.25 is now 0.75"),
        ("E1 · weights", "2 of 3 rows, by at most 0.25 (33 %); row 0: 0.75 is now 0.5"),
        ("E1 · text", "1 of 3 rows; row 1: 'b' is now 'x'"),
    ]
    zeros = [made(tmp_path / name, {"zero": [zero]}) for name, zero in (("plus", 0.0), ("minus", -0.0))]
    assert moves(*zeros) == [("E1 · zero", "1 of 1 rows; row 0: 0 is now -0")]


def test_what_only_one_side_has_is_said(before, tmp_path):
    after = made(tmp_path / "after", {"id": [0, 1, 2], "rho": [1, 2, 3]}, {"E1/tau/mean": 0.375})
    run = after / "runs" / "planted" / "jw-bilstm-0123abcd" / "seed0"
    (run / "evidence" / "E2.parquet").write_bytes((run / "evidence" / "E1.parquet").read_bytes())
    assert moves(before, after) == [
        ("files", "1 file new: runs/planted/jw-bilstm/seed0/evidence/E2.parquet"),
        ("E1", "3 columns gone: tau, text, weights"),
        ("E1", "1 column new: rho"),
        ("summary.json", "3 values gone: nothing, verdict answer, verdict texts"),
    ]
    assert ("E1", "3 rows are now 1") in moves(before, made(tmp_path / "shorter", {"id": [0]}))


def test_numbers_of_a_summary_have_one_line(before, tmp_path):
    after = made(tmp_path / "after", summary=SUMMARY | {"E1/tau/mean": 0.75, "verdict": {"answer": "yes", "texts": 3}})
    assert moves(before, after) == [("summary.json", "2 of 5 values, by at most 0.375 (50 %); E1/tau/mean: 0.375 is now 0.75")]


def test_a_page_is_compared_by_its_sentences(before, tmp_path):
    after = made(tmp_path / "after", share="13.5", sentence="It does.")
    assert moves(before, after) == [
        ("report.html", "“It does not.” is now “It does.”"),
        ("report.html", "in 1 of 5 lines numbers alone moved"),
    ]
    (page,) = before.rglob("report.html")
    assert lines(page, before) == ["May I?", "In 12.5 % of texts.", "It does not.", "Reading seconds a text", "attention"]


def test_a_long_line_is_shown_where_it_differs():
    said = line_moved("word " * 100 + "old end", "word " * 100 + "new end")
    assert said == "“…word word word word word word old end” is now “…word word word word word word new end”"
    assert line_moved("", "a line") == "new: “a line”"


def test_a_case_that_cannot_be_made_has_moved(before, tmp_path):
    after = made(tmp_path / "after")
    (after / FAILED).write_text("TypeError: trial() got an unexpected keyword")
    assert of_case(before, after).moves == [Move("cannot be made here", "TypeError: trial() got an unexpected keyword")]


def test_what_moved_alike_is_told_once(before):
    move, other = Move("report.html", "“a” is now “b”"), Move("E1 · tau", "1 of 3 rows")
    compared = {"first": Compared(4, 1, [move, other]), "second": Compared(4, 1, [move]), "third": Compared(1000, 1)}
    assert told(compared) == {"first": ["first and 1 more · report.html: “a” is now “b”", "first · E1 · tau: 1 of 3 rows"]}
    assert ending(compared) == "1 of 3 did not move: 3 kinds of runs and trials, 1,008 columns, 3 pages."


def test_of_too_many_lines_each_case_shows_its_first():
    lines = {"one": [f"one · {number}" for number in range(9)], "two": ["two · 0"]}
    assert len(printed(lines)) == 10
    assert printed(lines, most=6) == ["one · 0", "one · 1", "one · … and 7 more lines", "two · 0"]


def test_every_kind_of_model_and_place_of_attention_is_made_once():
    assert len({case.name for case in CASES}) == len(CASES)
    assert {case.kind for case in CASES} >= {"classes", "several labels", "one number", "tags", "choices", "spans"}
    assert all("/" not in case.name for case in CASES), "each has a folder"


@pytest.mark.parametrize("typed", [[], ["--base", "no-such-commit"], ["--base", "--help"]])
def test_a_base_that_git_does_not_know_is_refused(typed):
    with pytest.raises(SystemExit) as refused:
        main([f"--base={typed[1]}"] if typed else [])
    assert "Type for example: make moved BASE=HEAD" in str(refused.value)
