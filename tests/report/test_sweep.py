"""The page of a base's adversaries, from run folders made by hand."""

import html
import re

import pytest
import yaml

from attest.report.related_pages import write_sweep
from attest.runs.folder import read_json, write_json
from tests.report.made import decided, made_run

LABELS = [0, 1] * 25


def said(accuracy: float) -> list[int]:
    """What a model of this accuracy decides."""
    right = round(accuracy * len(LABELS))
    return [*LABELS[:right], *(1 - each for each in LABELS[right:])]


@pytest.fixture
def base(tmp_path):
    path = tmp_path / "mine" / "jw-bilstm-additive-softmax" / "seed0"
    base = made_run(path, {"test/accuracy": 0.9}, decided(LABELS, said(0.9)))
    seeds = [
        {"experiment": "E5", "name": "seed 1", "jsd": 0.15, "kl": 0.4, "tvd": 0.1, "jsd/ci_low": 0.12, "jsd/ci_high": 0.18}
    ]
    write_json(base.path / "controls" / "summary.json", {"rows": [{"experiment": "", "name": "the base itself"}, *seeds]})
    return base


def adversary(base, lam: float, jsd: float, tvd: float):
    means = {"test/accuracy": 0.9 - tvd, "E7/jsd/mean": jsd, "E7/tvd/mean": tvd}
    means |= {f"E7/{name}/{end}": value + side for name, value in (("jsd", jsd), ("tvd", tvd)) for end, side in ENDS}
    run = made_run(base.path / "adversarial" / f"unfrozen-kl-{lam:g}", means, decided(LABELS, said(0.9 - tvd)))
    settings = yaml.safe_load(run.config.read_text(encoding="utf-8")) | {"model": {"init_args": {"lam": lam}}}
    run.config.write_text(yaml.safe_dump(settings), encoding="utf-8")
    return run


ENDS = (("ci_low", -0.01), ("ci_high", 0.01))


def test_the_page_begins_with_what_the_adversaries_say_by_their_lambda(base, capsys, monkeypatch, snapshot):
    monkeypatch.setenv("COLUMNS", "200")
    runs = [adversary(base, *each) for each in ((1.0, 0.5, 0.3), (1e-05, 0.1, 0.0), (0.1, 0.4, 0.02))]
    runs[1].report.touch()
    write_sweep(base, "unfrozen-kl", runs)
    page = html.unescape((base.path / "adversarial" / "unfrozen-kl.html").read_text(encoding="utf-8"))
    assert re.findall("<strong>(.*?)</strong>", page) == snapshot
    accuracies = (
        "Of 50 test texts the adversaries decide 60.0 % [45.2 %, 73.6 %] to 90.0 % [78.2 %, 96.7 %] rightly, and the base "
        "run 90.0 % [78.2 %, 96.7 %]."
    )
    assert accuracies in page.replace("\N{NO-BREAK SPACE}", " ")
    assert "Compare with E5, the runs that have other seeds." in page
    assert '<a href="unfrozen-kl-1e-05/report.html">0.00001</a>' in page
    assert "The larger λ is, the more an adversary is trained to attend differently" in page
    assert '<td>0.400<span class="interval"> [0.390, 0.410]</span></td>' in page, "each mean stands with its interval"
    assert '<td>0.880<span class="interval"> [0.757, 0.955]</span></td>' in page, "so does the accuracy"
    assert (
        "The attention of the run with another seed differs from the base run by at most JSD 0.150 [0.120, 0.180] nats."
        in page
    )
    assert page.count("<td>50</td>") == 3, "and each row with its number of texts"
    assert page.index("Jensen–Shannon divergence (JSD)") < page.index(" JSD "), "it is spelled out where it is first said"
    compared = page.partition("Compared with</h2>")[2]
    heads = [
        "Run",
        "JSD from the base run's attention, nats",
        "KL divergence from the base run's attention, nats",
        "TVD from the base run's predictions",
    ]
    assert re.findall('<th scope="col">(.*?)</th>', compared) == heads
    stored = read_json(base.path / "adversarial" / "unfrozen-kl.json")
    assert ("Ringed: the knee" in page) == any(row["knee"] for row in stored["adversaries"])
    assert [row["run"] for row in stored["adversaries"]] == ["unfrozen-kl-1e-05", "unfrozen-kl-0.1", "unfrozen-kl-1"]
    console = capsys.readouterr().out.splitlines()
    assert console[0] == snapshot
    assert console[-1].startswith("Sweep:      ")
