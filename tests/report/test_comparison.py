"""One page for several runs: the right pairs, the right tests, links that lead to reports."""

import re

import pytest

from attest.app.cli.main import main
from attest.report.collection import settings_of
from attest.report.comparison import decisions, differences, write_comparison
from attest.runs.folder import read_json, write_json
from attest.runs.identity import find_runs
from tests.cheap import draw_nothing
from tests.report.conftest import variant
from tests.report.test_page import Outline

pytestmark = pytest.mark.whole("several runs")


@pytest.fixture(scope="module")
def page(several):
    """Reports and their comparison; nobody looks at the figures of the reports."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("attest.report.page.illustrations", lambda folder: [])
        assert main(["report", str(several)]) == 0
    return several / "planted" / "comparison.html"


def test_decisions_are_paired_by_seed_and_text(several):
    (decision,) = decisions(settings_of(find_runs([several])))
    assert (decision.names, decision.seed, decision.found.instances) == (("a_b", "c|d"), 0, 77)
    assert (decision.found.test.only_first, decision.found.test.only_second) == (1, 10), "both miss texts 0 and 1"


def test_differences_need_two_seeds_of_both(several, small_run, tmp_path):
    settings = settings_of(find_runs([several]))
    assert differences(settings, ["test/accuracy"]) == []
    for seed, accuracy in ((0, 0.1), (1, 0.3)):
        variant(small_run, tmp_path, "e", seed, accuracy)
    settings = settings_of(find_runs([several / "planted" / "a_b", tmp_path]))
    assert differences(settings, ["test/accuracy"]) == [("Accuracy", ["+2.8"])], "0.4 apart, each spreading by 0.141"


def test_the_page_shows_every_setting_and_leads_to_every_report(page):
    text = page.read_text()
    assert "<td>0.600 [0.000, 1.000] <small>2 seeds</small></td>" in text
    assert re.search(r"<td>0\.800 \[0\.\d+, 0\.\d+\] <small>77 texts</small></td>", text), "one seed: over texts"
    links = [link for link in Outline(text).all("href") if link.endswith(".html")]
    assert len(links) == 3
    assert all((page.parent / link).is_file() for link in links)
    assert not re.search(r'(src|href)="https?:', text)


def test_the_page_begins_with_what_differs(page, snapshot):
    settings, verdict, numbers, decided = re.findall("<strong>(.*?)</strong>", page.read_text())
    assert settings == snapshot, "both are copies of one run"
    assert verdict == snapshot
    assert re.fullmatch(r"The confidence intervals of all \d+ numbers overlap.", numbers)
    assert decided == snapshot


def test_numbers_that_differ_stand_apart_from_those_that_do_not(small_run, tmp_path, snapshot):
    for name, tau in (("a", 0.1), ("b", 0.9)):
        run = variant(small_run, tmp_path, name, 0, 0.5)
        interval = {
            f"E1/tau_gradient_inputs/{end}": tau + side for end, side in (("mean", 0), ("ci_low", -0.1), ("ci_high", 0.1))
        }
        write_json(run.summary, read_json(run.summary) | interval)
    write_comparison(tmp_path / "page.html", find_runs([tmp_path]))
    text = (tmp_path / "page.html").read_text()
    first, others = text.split("<summary>Other numbers</summary>")
    assert "Numbers that differ beyond their intervals" in first
    assert re.findall('<th scope="row">(.*?)</th>', first) == snapshot
    assert re.search(r"<td>0\.100 \[0\.000, 0\.200\] <small>\d+ texts</small></td>", first)
    kept = re.findall('<th scope="row">(.*?)</th>', others)
    assert "Accuracy" in kept
    assert "τ-b of attention and gradient × input" not in kept


def test_one_run_gets_its_own_report_alone(several, capsys, monkeypatch):
    draw_nothing(monkeypatch.setattr)
    run = several / "planted" / "c|d" / "seed0"
    (run / "report.html").unlink()
    assert main(["report", str(run)]) == 0
    assert (run / "report.html").is_file()
    assert "Comparison" not in capsys.readouterr().out
