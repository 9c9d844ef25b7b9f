"""The scripts of the Kubernetes profile against a stand-in for ``kubectl``, which keeps what it is given."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from attest.core.places import configs_folder

PROFILE = configs_folder() / "profiles" / "kubernetes"


@pytest.fixture
def kubectl(tmp_path, monkeypatch):
    """Return a function that sets what the stand-in prints and its exit code; ``given`` and ``typed`` keep what it got."""
    program = tmp_path / "kubectl"
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path), os.environ["PATH"]]))

    def answer(said: str, code: int = 0) -> None:
        keep = f'echo "$@" > {tmp_path}/typed\n[ "$1" != create ] || cat > {tmp_path}/given'
        program.write_text(f"#!/bin/sh\n{keep}\necho '{said}'\nexit {code}\n")
        program.chmod(0o755)

    return answer


def typed(script: str, *words: str, at: Path) -> str:
    return subprocess.run([PROFILE / script, *words], cwd=at, check=True, capture_output=True, text=True).stdout


def test_a_job_runs_its_script_where_the_workflow_was_started_with_what_it_asks_for(tmp_path, kubectl):
    kubectl("job.batch/attest-1")
    assert typed("submit.sh", "2", "4000M", "1", "/volume/run.sh", at=tmp_path) == "job.batch/attest-1\n"
    job = yaml.safe_load((tmp_path / "given").read_text())
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert (container["command"], container["workingDir"]) == (["/bin/sh", "/volume/run.sh"], str(tmp_path))
    assert container["resources"] == {"requests": {"cpu": "2", "memory": "4000M"}, "limits": {"nvidia.com/gpu": "1"}}
    assert container["volumeMounts"] == [{"name": "shared", "mountPath": "/volume"}]
    assert pod["volumes"] == [{"name": "shared", "persistentVolumeClaim": {"claimName": "attest"}}]
    assert job["spec"]["backoffLimit"] == 0


@pytest.mark.parametrize(
    ("said", "code", "expected"),
    [
        ("", 0, "running"),
        ("Failed", 0, "failed"),
        ("SuccessCriteriaMet Complete", 0, "success"),
        ('Error from server (NotFound): jobs.batch "attest-1" not found', 1, "failed"),
        ("Failed to reach the server: timeout", 1, "running"),
    ],
)
def test_what_kubernetes_says_becomes_what_snakemake_asks(tmp_path, kubectl, said, code, expected):
    kubectl(said, code)
    assert typed("status.sh", "job.batch/attest-1", at=tmp_path) == f"{expected}\n"


def test_jobs_are_cancelled_by_one_program_that_takes_their_names(tmp_path, kubectl):
    kubectl("")
    typed("cancel.sh", "job.batch/attest-1", "job.batch/attest-3", at=tmp_path)
    assert (tmp_path / "typed").read_text() == "delete --wait=false job.batch/attest-1 job.batch/attest-3\n"
