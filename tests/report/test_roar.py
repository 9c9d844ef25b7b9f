"""The page of recursive ROAR, from run folders made by hand."""

import html
import re

import numpy as np
import pytest

from attest.core.measures.summary import share_interval
from attest.report.related_pages import write_roar
from tests.report.made import decided, made_run

SHARES = (0.0, 0.5, 1.0)


def written(root, attention: float) -> str:
    """The page of a base whose accuracy falls from 0.9 to 0.5; half-way random erasure leaves 0.8, attention this."""
    base = made_run(root / "mine" / "jw-bilstm-additive-softmax" / "seed0", {"test/accuracy": 0.9})
    scores = {"random": (0.9, 0.8, 0.5), "attention": (0.9, attention, 0.5)}
    curves = {
        name: [
            (share, made_run(base.path / "roar" / f"{name}-{share:g}", {"test/accuracy": score}))
            for share, score in zip(SHARES, values, strict=True)
        ]
        for name, values in scores.items()
    }
    write_roar(base, curves)
    return html.unescape((base.path / "roar" / "report.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("attention", "said", "figures"),
    [
        (0.6, "Attention α makes accuracy fall faster than random erasure does.", "an explanation is 0.100 (Attention α)."),
        (0.8, "No explanation makes accuracy fall faster than random erasure does.", "an explanation is 0.000 (Attention α)."),
        (
            0.85,
            "No explanation makes accuracy fall faster than random erasure does.",
            "an explanation is −0.025 (Attention α).",
        ),
    ],
)
def test_page_and_console_begin_with_whether_a_reading_gains_on_random_erasure(tmp_path, capsys, attention, said, figures):
    page = written(tmp_path, attention)
    assert re.findall("<strong>(.*?)</strong>", page) == [said]
    assert figures in page
    console = capsys.readouterr().out
    assert console.splitlines()[0] == said
    assert "Share of tokens erased" in page
    assert console.rstrip().endswith("roar/report.html")


def test_each_accuracy_has_its_interval_and_the_number_of_texts(tmp_path):
    base = made_run(
        tmp_path / "jw-bilstm-additive-softmax" / "seed0", {"test/accuracy": 0.9}, decided([1] * 20, [1] * 18 + [0] * 2)
    )
    curves = {
        name: [
            (share, made_run(base.path / "roar" / f"{name}-{share:g}", {"test/accuracy": score})) for share, score in points
        ]
        for name, points in {"random": ((0.0, 0.9), (1.0, 0.5)), "attention": ((0.0, 0.9), (1.0, 0.4))}.items()
    }
    write_roar(base, curves)
    page = html.unescape((base.path / "roar" / "report.html").read_text(encoding="utf-8")).replace("\xa0", " ")
    low, high = share_interval(np.arange(20) < 8)
    assert "0.400" in page
    assert f"[{low:.3f}, {high:.3f}]" in page
    assert "<td>20</td>" in page
    assert "areas and RACU have no interval" in page
