"""Import times are added up by package, each file's own alone."""

from benchmarks.imports import by_package, table

REPORT = """import time: self [us] | cumulative | imported package
import time:      1500 |       1500 |   torch._C
import time:      2500 |       4000 | torch
import time:      1000 |       5000 | attest.models.networks
Epoch 1/1: train/loss 0.6
"""


def test_files_count_for_their_package_without_what_they_import():
    assert by_package(REPORT.splitlines()) == {"torch": 4, "attest": 1}


def test_what_is_not_shown_is_in_the_sum():
    found = by_package(f"import time: {10_000 * n} | 0 | package{n}" for n in range(1, 13))
    assert table(found).splitlines()[-2:] == ["| others | 30 |", "| together | 780 |"]
