"""What the page of a sweep begins with: every word is decided by a number."""

import pandas as pd
import pytest

from attest.report.controls import Baseline, baseline
from attest.report.related import Conclusion
from attest.report.related_pages import sweep_conclusions
from attest.runs.contents import RunContents
from tests.report.made import decided, made_run

LAMBDAS = [0.001, 0.01, 0.1]


def sweep(jsd, tvd=(0.1, 0.1, 0.1), wide=0.02, knee=None, intervals=True, **more) -> list[Conclusion]:
    """Adversaries with these means, each with an interval of that half-width."""
    rows = pd.DataFrame({"lambda": LAMBDAS, "jsd": jsd, "tvd": tvd, "knee": [place == knee for place in range(3)]})
    summaries = []
    for place in range(3):
        summary = {}
        for name, values in (("jsd", jsd), ("tvd", tvd)):
            mean = values[place]
            summary |= {f"E7/{name}/mean": mean}
            summary |= {f"E7/{name}/ci_low": mean - wide, f"E7/{name}/ci_high": mean + wide} if intervals else {}
        summaries.append(summary)
    return sweep_conclusions(rows, summaries, "jsd", "tvd", **more)


@pytest.mark.parametrize(
    ("last", "expected"),
    [(0.15, "moves away from"), (0.13, "moves no farther from"), (0.07, "moves no farther from"), (0.05, "comes nearer to")],
)
def test_attention_moves_where_the_intervals_of_the_ends_lie_apart(last, expected):
    moved = sweep((0.1, 0.1, last))[1]
    assert moved.said == f"As λ grows from 0.001 to 0.1, the attention of the adversaries {expected} that of the base run."
    ends = f"0.100 [0.080, 0.120] to {last:.3f} [{last - 0.02:.3f}, {last + 0.02:.3f}]"
    assert moved.figures == f"JSD of attention against the base run changes from {ends} nats."


@pytest.mark.parametrize(
    ("tvd", "expected", "ends"),
    [
        (
            (0.1, 0.13, 0.2),
            "Up to λ = 0.01, the",
            "0.130 [0.110, 0.150], and JSD of attention is 0.300 [0.280, 0.320] nats; at",
        ),
        (
            (0.1, 0.2, 0.1),
            "Up to λ = 0.001, the",
            "0.100 [0.080, 0.120], and JSD of attention is 0.100 [0.080, 0.120] nats; at",
        ),
        ((0.1, 0.13, 0.02), "At every λ, the", "0.020 [0.000, 0.040], and JSD of attention is 0.600 [0.580, 0.620] nats."),
    ],
)
def test_it_begins_with_the_lambda_up_to_which_predictions_stay(tvd, expected, ends):
    first = sweep((0.1, 0.3, 0.6), tvd)[0]
    assert first.said.startswith(expected)
    assert ends in first.figures


def test_without_intervals_nothing_is_said_to_move(snapshot):
    moved = sweep((0.1, 0.3, 0.6), intervals=False)[0]
    assert "moves no farther" in moved.said
    assert moved.figures == snapshot


def test_what_is_reached_in_between_is_told_where_it_lies_beyond_both_ends():
    assert "; in between it reaches 0.600 [0.580, 0.620] at λ = 0.01" in sweep((0.1, 0.6, 0.2))[1].figures
    assert "in between" not in sweep((0.1, 0.22, 0.2))[1].figures


def held(path, right: int) -> Baseline:
    """A model that decides so many of 20 texts rightly."""
    labels = [0, 1] * 10
    found = baseline(
        RunContents(
            made_run(path / str(right), {}, decided(labels, [*labels[:right], *(1 - each for each in labels[right:])]))
        )
    )
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("last", "expected"), [(0.2, "move away from"), (0.1, "move no farther from"), (0.02, "come nearer to")]
)
def test_the_price_is_told_with_the_accuracy(tmp_path, last, expected):
    base, *adversaries = (held(tmp_path, right) for right in (17, 16, 18, 15))
    paid = sweep((0.1, 0.1, 0.1), (0.1, 0.1, last), held=[base, *adversaries])[2]
    assert paid.said == f"The predictions of the adversaries {expected} those of the base run."
    assert paid.figures.endswith(
        ". Of 20 test texts the adversaries decide 75.0 % [50.9 %, 91.3 %] to 90.0 % [68.3 %, 98.8 %] rightly, and the base "
        "run 85.0 % [62.1 %, 96.8 %].".replace(" %", "\N{NO-BREAK SPACE}%")
    )
    unknown = sweep((0.1, 0.1, 0.1), (0.1, 0.1, last), held=[base, None, *adversaries])[2]
    assert "rightly" not in unknown.figures


@pytest.mark.parametrize(
    ("jsd", "expected"),
    [
        ((0.3, 0.4, 0.5), "at every λ"),
        ((0.1, 0.4, 0.5), "from λ = 0.01 on"),
        ((0.1, 0.4, 0.2), "at λ = 0.01"),
        ((0.1, 0.2004, 0.201), "from λ = 0.1 on"),
    ],
)
def test_seeds_say_which_distance_is_more_than_theirs(jsd, expected, snapshot):
    beyond = sweep(jsd, seeds=[0.05, 0.2])[3]
    farther = "The attention of the adversaries is farther from the base run than the attention of any run with another seed"
    assert beyond.said == f"{farther}, {expected}."
    assert beyond.figures == snapshot


def test_within_the_distance_of_a_seed_nothing_is_called_farther(snapshot):
    within = sweep((0.1, 0.2, 0.1), seeds=[0.05, 0.2])[3]
    assert within.said == snapshot


def test_without_seeds_there_is_no_noise_floor():
    assert len(sweep((0.1, 0.2, 0.3))) == 4


def test_the_knee_is_told_where_there_is_one(snapshot):
    bend = sweep((0.1, 0.5, 0.6), knee=1)[-1]
    assert bend.said == snapshot
    assert bend.figures == snapshot
    assert sweep((0.1, 0.5, 0.6))[-1].said == "No λ stands out."
