"""The Kubernetes profile against a stand-in: a ``kubectl`` that runs every pod's command as a process of this machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from attest.app.cli import reproduce
from attest.app.cli.main import main
from attest.app.reproduce.kubernetes import GPU, manifest, outcome
from attest.app.reproduce.kubernetes import main as kubernetes
from attest.core.places import configs_folder
from tests.app.cli.test_reproduce import words, written
from tests.forking import attest_command

KUBECTL = """#!{python}
import json, shutil, subprocess, sys, uuid
from pathlib import Path

verb, *rest = sys.argv[1:]
if verb == "create":
    job = json.load(sys.stdin)
    name = "job.batch/" + job["metadata"]["generateName"] + uuid.uuid4().hex[:5]
    folder = Path({cluster!r}) / name
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(job))
    container = job["spec"]["template"]["spec"]["containers"][0]
    command = ["sh", "-c", '"$@"; echo $? > "$0"', str(folder / "exit"), *container["command"]]
    log = (folder / "log").open("w")
    subprocess.Popen(command, cwd=container["workingDir"], stdout=log, stderr=log, start_new_session=True)
    print(name)
elif verb == "delete":
    for name in rest[1:]:
        shutil.rmtree(Path({cluster!r}) / name)
else:
    folder = Path({cluster!r}) / rest[0]
    if not folder.is_dir():
        sys.exit(f'Error from server (NotFound): jobs.batch "{{rest[0]}}" not found')
    code = (folder / "exit").read_text().strip() if (folder / "exit").exists() else ""
    print(json.dumps({{"status": {{"": {{"active": 1}}, "0": {{"succeeded": 1}}}}.get(code, {{"failed": 1}})}}))
"""


@pytest.fixture
def cluster(tmp_path, monkeypatch) -> Path:
    """The folder in which the stand-in keeps its jobs."""
    place, programs = tmp_path / "cluster", tmp_path / "bin"
    programs.mkdir()
    kubectl = programs / "kubectl"
    kubectl.write_text(KUBECTL.format(python=sys.executable, cluster=str(place)))
    kubectl.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(programs), os.environ["PATH"]]))
    return place


def test_a_job_runs_its_script_where_the_workflow_was_started_with_what_it_asks_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    job = manifest(Path("/volume/run.sh"), "mine:1", "claim:/volume", cpus=2, memory="4000M", gpus=1)
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert (container["image"], container["command"]) == ("mine:1", ["/bin/sh", "/volume/run.sh"])
    assert container["workingDir"] == str(tmp_path)
    assert container["resources"] == {"requests": {"cpu": "2", "memory": "4000M"}, "limits": {GPU: "1"}}
    assert container["volumeMounts"] == [{"name": "shared", "mountPath": "/volume"}]
    assert job["spec"]["template"]["spec"]["volumes"] == [{"name": "shared", "persistentVolumeClaim": {"claimName": "claim"}}]
    assert job["spec"]["backoffLimit"] == 0


def test_a_job_without_gpus_asks_for_none():
    job = manifest(Path("/volume/run.sh"), "mine:1", "claim:/volume", cpus=1, memory="1M", gpus=0)
    assert GPU not in json.dumps(job)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, "running"),
        ({"active": 1}, "running"),
        ({"succeeded": 1}, "success"),
        ({"failed": 1}, "failed"),
        ({"conditions": [{"type": "Failed", "status": "True"}]}, "failed"),
        ({"conditions": [{"type": "Failed", "status": "False"}, {"type": "Complete", "status": "True"}]}, "success"),
    ],
)
def test_what_kubernetes_says_becomes_what_snakemake_asks(status, expected):
    assert outcome({"status": status}) == expected


def test_a_job_that_is_gone_has_failed(cluster, capsys):
    assert kubernetes(["status", "job.batch/attest-gone"]) == 0
    assert capsys.readouterr().out == "failed\n"


def test_jobs_are_cancelled_by_one_program_that_takes_their_names(cluster):
    jobs = [cluster / "job.batch" / name for name in ("attest-1", "attest-2", "attest-3")]
    for job in jobs:
        job.mkdir(parents=True)
    cancel = configs_folder() / "profiles" / "kubernetes" / "cancel.sh"
    subprocess.run([cancel, "job.batch/attest-1", "job.batch/attest-3"], check=True)
    assert [job.is_dir() for job in jobs] == [False, True, False]


def test_a_cluster_that_does_not_answer_is_asked_again(cluster, capsys, monkeypatch):
    (Path(os.environ["PATH"].split(os.pathsep)[0]) / "kubectl").write_text("#!/bin/sh\necho timeout >&2; exit 1\n")
    assert kubernetes(["status", "job.batch/attest-1"]) == 0
    assert capsys.readouterr().out == "running\n"


@pytest.mark.slow
def test_a_table_is_made_of_runs_in_pods(tmp_path, monkeypatch, cluster):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduce, "ATTEST", attest_command())
    assert main(words(tmp_path, "PROFILE=kubernetes")) == 0
    assert written(tmp_path)["seeds"].tolist() == [1, 1]
    logs = [path.read_text() for path in cluster.glob("job.batch/*/log")]
    assert len(logs) == 2, "every run in a pod of its own, and the table here"
    assert all("1 of 1 steps (100%) done" in log for log in logs)
