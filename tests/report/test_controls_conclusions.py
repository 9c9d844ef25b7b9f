"""What the page of controls begins with: every word is decided by a number."""

import pandas as pd
import pytest

from attest.core.measures import Paired
from attest.report.collection import Pairing
from attest.report.related import Conclusion, Page, spelled_out
from attest.report.related_pages import conclusions, guides_compared

BASE = {"experiment": "", "name": "the base itself", "accuracy": 0.9}
UNIFORM = {"experiment": "E4", "name": "uniform attention", "accuracy": 0.8, "jsd": 0.2}
SEEDS = [{"experiment": "E5", "name": f"seed {seed}", "accuracy": 0.9, "jsd": jsd} for seed, jsd in ((1, 0.05), (2, 0.15))]
GUIDES = [
    {"experiment": "E6", "name": f"guide: {name}", "accuracy": accuracy, "jsd": jsd}
    for name, accuracy, jsd in (
        ("uniform attention", 0.7, 0.2),
        ("base's attention", 0.85, 0.0),
        ("adversary's attention, λ = 0.001", 0.6, 0.01),
        ("adversary's attention, λ = 1", 0.65, 0.5),
    )
]


def within(row, column: str, wide: float):
    """A row whose column has an interval of this half-width."""
    return row | {f"{column}/ci_low": row[column] - wide, f"{column}/ci_high": row[column] + wide, "texts": 400}


def pair(favours: int, p_value: float, tagging: bool = False) -> Pairing:
    """The base against another, or two guides."""
    return Pairing(True, 100, tagging, Paired(30, 10, p_value, favours))


def said(rows, pairs=None, of_use=None):
    named = {row["name"]: pair(1, 0.9) for row in rows} | (pairs or {})
    return conclusions([BASE, *rows], named, of_use)


@pytest.mark.parametrize(("favours", "p_value"), [(1, 0.001), (1, 0.05), (-1, 0.2), (-1, 0.049)])
def test_uniform_attention_is_worse_only_where_a_test_says_so(favours, p_value, snapshot):
    (only,) = said([UNIFORM], {"uniform attention": pair(favours, p_value)})
    assert (only.said, only.figures) == snapshot


def test_attention_on_the_last_state_is_compared_as_uniform_attention_is():
    last = UNIFORM | {"name": "attention on the last state alone", "accuracy": 0.7}
    _, found = said([UNIFORM, last], {last["name"]: pair(1, 0.001)})
    assert found.said == "Attention on the last state alone does worse than learned attention."
    assert found.figures.startswith("70")
    assert "with attention on the last state alone, and" in found.figures


@pytest.mark.parametrize(
    ("jsd", "expected"),
    [(0.151, "by 0.151 nats, more than"), (0.15, "by 0.150 nats, no more than")],
)
def test_an_adversary_has_moved_where_it_lies_beyond_every_seed(jsd, expected, snapshot):
    moved = said([*SEEDS, GUIDES[3] | {"jsd": jsd}])[0]
    assert (
        moved.said == f"The attention of the adversary (λ = 1) differs from the base run {expected} a run with another seed."
    )
    assert moved.figures == snapshot


def test_every_accuracy_and_distance_stands_with_its_interval_and_the_number_of_texts(snapshot):
    base, uniform = (within(row, "accuracy", 0.05) for row in (BASE, UNIFORM))
    seeds = [within(row, "jsd", 0.01) for row in SEEDS]
    found = conclusions([base, uniform, *seeds], {"uniform attention": pair(1, 0.01)}, None)
    assert [(each.said, each.figures) for each in spelled_out(found)] == snapshot
    alone = conclusions([base, *seeds[:1]], {}, None)[0]
    assert alone.said == "If only the seed changes, attention changes by 0.050 [0.040, 0.060] nats."


def test_abbreviations_are_spelled_out_where_they_are_first_said():
    found = spelled_out([Conclusion("JSD grows.", "TVD is 0.1, JSD 0.2. KL too."), Conclusion("E2 and E12: JSD", "E2 alone")])
    assert [(each.said, each.figures) for each in found] == [
        (
            "Jensen–Shannon divergence (JSD) grows.",
            "Total variation distance (TVD) is 0.1, JSD 0.2. Kullback–Leibler divergence (KL) too.",
        ),
        ("E2 (permuted attention) and E12 (erasing until the decision flips): JSD", "E2 alone"),
    ]


def test_of_several_adversaries_the_farthest_is_told():
    assert said([*SEEDS, *GUIDES])[0].said.startswith(
        "The attention of the adversary (λ = 1) differs from the base run by 0.500 nats"
    )


def test_heads_are_matched_before_taggers_are_told_apart():
    rows = [row | {"jsd_matched": row["jsd"] / 2} for row in (*SEEDS, *GUIDES)]
    assert said(rows)[0].said.startswith("The attention of the adversary (λ = 1) differs from the base run by 0.250 nats")


def test_seeds_alone_say_how_far_attention_moves_anyhow(snapshot):
    assert said(SEEDS)[0].said == snapshot
    assert said(SEEDS[:1])[0].figures.startswith(
        "The attention of a run with another seed differs from the base run by 0.050 nats of JSD"
    )


def test_without_seeds_no_distance_is_called_far(snapshot):
    moved = said(GUIDES)[0]
    assert moved.said == snapshot
    assert "Other seeds were not compared" in moved.figures


@pytest.mark.parametrize(("favours", "p_value"), [(1, 0.01), (1, 0.3), (-1, 0.01)])
def test_the_bases_attention_is_of_use_where_it_guides_better_than_uniform(favours, p_value, snapshot):
    assert said(GUIDES, of_use=pair(favours, p_value))[-1].said == snapshot


def test_a_guide_keeps_the_accuracy_where_it_is_not_worse_by_more_than_chance(snapshot):
    worse = {row["name"]: pair(1, 0.01) for row in GUIDES}
    none = said(GUIDES, worse, pair(1, 0.01))[-1]
    assert none.figures == snapshot
    one = said(GUIDES, worse | {"guide: base's attention": pair(1, 0.06)}, pair(1, 0.01))[-1]
    assert one.figures.endswith("Not shown to be worse than the base run (90.0 %): the attention of the base run.")


def test_taggers_are_compared_by_sentence_and_guide_themselves():
    rows, found = [UNIFORM, GUIDES[1]], pair(1, 0.01, tagging=True)
    uniform, _, guided = said(rows[:1] + SEEDS + rows[1:], {row["name"]: found for row in rows}, found)
    assert "of the tokens are decided rightly" in uniform.figures
    assert "Wilcoxon's signed-rank test over sentences: p = 0.01" in uniform.figures
    assert "The same tagger decides better" in guided.said


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["guide: base's attention", "guide: uniform attention", "uniform attention"], "guide: uniform attention"),
        (["uniform attention", "guide: base's attention"], "uniform attention"),
    ],
)
def test_guides_are_compared_with_what_must_attend_uniformly(names, expected, snapshot):
    assert guides_compared(names) == ("guide: base's attention", expected)
    assert guides_compared(names[:1]) is None
    assert said(GUIDES)[-1].said == snapshot


@pytest.mark.parametrize("unit", ["texts", "sentences"])
def test_the_number_of_texts_or_sentences_comes_last_and_names_what_means_are_over(tmp_path, unit):
    rows = pd.DataFrame(
        [{"name": "a", unit: 1200, "jsd": 0.2, "jsd/ci_low": 0.1, "jsd/ci_high": 0.3}, {"name": "b", "jsd": 0.4}]
    )
    page = Page("Runs", {"Scores": rows})
    said = page.write(tmp_path / "page.html")
    assert [line.split() for line in said.splitlines()[-2:]] == [
        ["a", "0.200", "[0.100,", "0.300]", "1,200"],
        ["b", "0.400", "–"],
    ]
    assert f"means over the test {unit}." in (tmp_path / "page.html").read_text(encoding="utf-8")
