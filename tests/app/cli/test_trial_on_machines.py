"""``attest trial`` under torchrun: two processes with files of their own, as on two machines, measure one trial."""

import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import attest.app
from attest.app.cli.main import main
from attest.core.errors import AttestError
from attest.core.processes import require_alike, together
from attest.runs.folder import RunFolder, read_table

DEMO = Path(attest.app.__file__).parent / "demo"
TRIAL = ("trial", "--data", "reviews.csv", "--texts", "24", "E2", "E19", "--model", "small-bert")


@pytest.fixture
def machines(tmp_path):
    """Two folders with the same model and the same texts, which share nothing."""
    places = [tmp_path / name for name in ("one", "other")]
    for place in places:
        shutil.copytree(DEMO, place)
    return places


def on_machines(places: list[Path]) -> list[subprocess.CompletedProcess[str]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = ("--master-addr=127.0.0.1", f"--master-port={free.getsockname()[1]}")
    runs = []
    for rank, place in enumerate(places):
        launcher = (sys.executable, "-m", "torch.distributed.run", f"--nnodes={len(places)}", f"--node-rank={rank}", *address)
        command = [*launcher, "--nproc-per-node=1", "-m", "attest", *TRIAL, "--out", "out"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        runs.append(subprocess.Popen(command, cwd=place, **pipes))
    told = [run.communicate(timeout=280) for run in runs]
    return [subprocess.CompletedProcess(run.args, run.returncode, *said) for run, said in zip(runs, told, strict=True)]


@pytest.mark.whole("processes of torchrun")
def test_two_machines_measure_what_one_does(machines, tmp_path, monkeypatch):
    first, second = on_machines(machines)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "Verdict:" in first.stdout
    assert second.stdout == "", "the first says it"
    assert not (machines[1] / "out").exists()
    monkeypatch.chdir(machines[0])
    assert main([*TRIAL, "--out", "alone", "--processes", "1"]) == 0
    ours, alone = RunFolder(machines[0] / "out"), RunFolder(machines[0] / "alone")
    assert {*ours.tables} == {*alone.tables} == {"E2", "E19", "instances"}
    for name in ours.tables:
        assert read_table(ours.evidence(name)).equals(read_table(alone.evidence(name)))


@pytest.mark.whole("processes of torchrun")
def test_machines_with_other_texts_are_refused(machines):
    changed = machines[1] / "reviews.csv"
    changed.write_text(changed.read_text().replace("awful", "lovely"))
    runs = on_machines(machines)
    assert all(run.returncode for run in runs)
    assert "process 1 has other texts than process 0" in "".join(run.stderr for run in runs)
    assert not (machines[0] / "out").exists()


def test_processes_that_know_different_things_are_named():
    def work(rank: int) -> str:
        require_alike(weights="a", texts="b")
        with pytest.raises(AttestError, match="process 1 has other texts and more options than process 0"):
            require_alike(weights="a", texts=f"of {rank}", more_options=str(rank))
        return "refused"

    assert together(2, work) == "refused"
