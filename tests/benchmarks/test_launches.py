"""The count of kernels on a fake device is that of the tests, for larger batches."""

import pytest

from benchmarks.launches import counted, main


def test_a_batch_is_counted_and_the_lines_that_launch_most_are_printed(capsys):
    main(["--texts", "2", "--tokens", "4", "--experiments", "E2", "E12", "--by", "line"])
    said = capsys.readouterr().out
    assert "attest/experiments/permutation.py" in said
    row = next(line for line in said.splitlines() if line.startswith("| E12"))
    assert row.split("|")[2].strip() == str(counted("pooled", "E12", [4, 4], {}).launches)


def test_an_unknown_network_is_refused():
    with pytest.raises(SystemExit):
        main(["--kind", "nothing"])
