"""The race of training steps: the leanest loop and a run must make the same parameters of the same batches."""

import re
import sys

import pytest

from benchmarks.training import main


@pytest.mark.whole("trains")
def test_the_leanest_loop_makes_the_parameters_of_the_run(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["training", "--data", "planted", "--epochs", "1", "--rounds", "1", "CUT=smoke"])
    main()
    (said,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("round 1"))
    found = re.search(r"apart (\S+)$", said)
    assert found is not None
    assert float(found[1]) < 1e-4
