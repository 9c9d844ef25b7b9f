"""Numbers as people read them: what is not zero is never written as one, and no zero has a sign."""

from math import nan

from attest.core.measures.numbers import duration, interval, number, rounded, significant, spread


def test_a_number_is_never_rounded_to_a_zero_that_it_is_not():
    written = [rounded(value) for value in (0.0, 6.76e-11, -6.76e-11, 0.0005, -0.25, nan, None)]
    assert written == ["0.000", "< 0.001", "> −0.001", "0.001", "−0.250", "undefined", "undefined"]


def test_zero_has_no_sign():
    assert [number(value) for value in (-1e-17, 0.0, -0.001)] == ["0.000", "0.000", "−0.001"]


def test_a_spread_and_an_interval_are_left_out_where_they_too_would_be_zeros():
    assert [spread(2e-5, 1e-6), spread(2e-5, 0.02), spread(0.0, 0.0), spread(0.3, 1e-6)] == [
        *("< 0.001", "< 0.001 ± 0.020", "0.000 ± 0.000", "0.300 ± 0.000")
    ]
    assert [interval(-2e-5, -3e-5, 1e-5), interval(-2e-5, -0.01, 0.01), interval(0.3, 0.2, 0.4)] == [
        *("> −0.001", "> −0.001 [−0.010, 0.010]", "0.300 [0.200, 0.400]")
    ]


def test_a_number_of_any_size_has_as_many_digits_as_every_processor_computes():
    assert [significant(value) for value in (-0.00132368, 12.75, 2.0)] == ["−0.001324", "12.75", "2"]
    assert significant(-0.00132368, 3) == significant(-0.00132374, 3) == "−0.00132"


def test_durations_are_written_as_people_say_them():
    assert [duration(seconds) for seconds in (99, 100, 5999, 7200)] == ["99 s", "2 min", "100 min", "2.0 h"]
