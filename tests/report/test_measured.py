"""Where the numbers of the verdict lie on their scales."""

import pytest

from attest.report.measured import Line
from attest.report.templating import ENVIRONMENT

SHARE, CORRELATION = "E15/win_sufficiency_attention", "E1/tau_gradient_inputs"


def line(key, value, bounds):
    return Line(key, "name", "ours", value, "means", bounds=bounds)


@pytest.mark.parametrize(
    ("key", "value", "bounds", "span"),
    [
        (SHARE, 0.5, (0.25, 0.75), (25, 50)),
        (SHARE, 0.95, (0.9, 1.02), (90, 10)),
        (SHARE, 0.05, (-0.02, 0.1), (0, 10)),
        (SHARE, 0.5, (-0.5, 1.5), (0, 100)),
        (CORRELATION, -0.25, (-0.5, 0), (25, 25)),
        (CORRELATION, 0.9, (0.8, 1.1), (90, 10)),
        (SHARE, 0.5, None, None),
        (SHARE, 2.5, (2, 3), None),
    ],
)
def test_an_interval_is_drawn_as_far_as_the_scale_reaches(key, value, bounds, span):
    assert line(key, value, bounds).span == (None if span is None else pytest.approx(span))


def test_the_picture_of_a_mean_near_the_end_of_its_scale_has_its_interval():
    drawn = ENVIRONMENT.get_template("parts.html").module.scale(line(SHARE, 0.95, (0.9, 1.02)))
    assert 'class="span" style="left:90.0%;width:10.0%"' in drawn
