"""The knee of curves whose bend is known."""

import numpy as np

from attest.core.measures.summary import knee


def test_a_corner_is_found_whatever_the_units_and_the_order():
    x, y = np.array([0.0, 1, 2, 3, 4]), np.array([0.0, 0.1, 0.2, 3, 6])
    assert knee(x, y) == 2
    assert knee(1e3 * x - 7, 1e-4 * y + 5) == 2
    order = np.array([3, 2, 0, 4, 1])
    assert order[knee(x[order], y[order])] == 2


def test_the_knee_of_a_hyperbola_is_its_vertex():
    """x + 1 / (1 - x) rises from (0, 1) to (0.9, 10); the tangent parallel to the chord, slope 10, touches where it bends."""
    x = np.linspace(0, 0.9, 901)
    y = 1 / (1 - x)
    assert abs(x[knee(x, y)] - (1 - np.sqrt(0.1))) < 1e-3


def test_what_lies_above_the_chord_is_no_knee_however_far():
    assert knee(np.arange(5.0), np.array([0.0, 3, 1, 2.5, 4])) == 2


def test_what_does_not_bend_has_none():
    x = np.array([0.0, 1, 2, 3])
    assert knee(x, 2 * x) is None
    assert knee(x, -x) is None, "falls"
    assert knee(x, np.array([3.0, 2.9, 1, 0])) is None, "bends and falls"
    assert knee(x, np.sqrt(x)) is None, "bends the other way"
    assert knee(x[:2], x[:2]) is None
    assert knee(np.ones(4), x) is None
