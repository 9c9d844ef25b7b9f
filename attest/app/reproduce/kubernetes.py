"""A run as a Kubernetes job, for Snakemake's cluster-generic executor; the profile ``kubernetes`` calls this.

    python -m attest.app.reproduce.kubernetes submit --image attest:latest --volume attest:/volume <jobscript>
    python -m attest.app.reproduce.kubernetes status <name>

The first prints the name of the job, the second running, success or failed.

The jobscript, run folders and results lie on a volume that every pod mounts. Snakemake's own executor for Kubernetes takes it
that machines share no files, and runs a rule whose files it is not to copy on the machine from which it was started.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

NAME = "attest"
SECONDS_KEPT = 7 * 24 * 3600
GPU = "nvidia.com/gpu"


def manifest(jobscript: Path, image: str, volume: str, cpus: int, memory: str, gpus: int) -> dict[str, Any]:
    """The job that runs a script once, in the folder from which the workflow was started.

    Args:
        jobscript: what the pod is to run; on the volume.
        image: of its container, in which attest is installed.
        volume: ``<persistent volume claim>:<where it is mounted>``.
        cpus: that it asks for.
        memory: that it asks for, in Kubernetes' units.
        gpus: that it has to itself.
    """
    claim, place = volume.split(":", 1)
    container = {
        "name": NAME,
        "image": image,
        "command": ["/bin/sh", str(jobscript)],
        "workingDir": str(Path.cwd()),
        "resources": {"requests": {"cpu": str(cpus), "memory": memory}, "limits": {GPU: str(gpus)} if gpus else {}},
        "volumeMounts": [{"name": "shared", "mountPath": place}],
        "envFrom": [{"secretRef": {"name": NAME, "optional": True}}],
    }
    pod = {
        "restartPolicy": "Never",
        "containers": [container],
        "volumes": [{"name": "shared", "persistentVolumeClaim": {"claimName": claim}}],
    }
    labels = {"app": NAME}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"generateName": f"{NAME}-", "labels": labels},
        "spec": {
            "backoffLimit": 0,  # Snakemake tries again
            "ttlSecondsAfterFinished": SECONDS_KEPT,
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def outcome(job: dict[str, Any]) -> str:
    """``running``, ``success`` or ``failed``, from what Kubernetes says of a job."""
    status = job.get("status", {})
    conditions = {each["type"] for each in status.get("conditions", []) if each["status"] == "True"}
    if status.get("succeeded") or "Complete" in conditions:
        return "success"
    return "failed" if status.get("failed") or "Failed" in conditions else "running"


def submit(arguments: argparse.Namespace) -> int:
    """Create the job and print its name."""
    asked = vars(arguments)
    job = manifest(**{name: asked[name] for name in ("jobscript", "image", "volume", "cpus", "memory", "gpus")})
    return subprocess.run(["kubectl", "create", "--filename=-", "--output=name"], input=json.dumps(job), text=True).returncode


def status(arguments: argparse.Namespace) -> int:
    """Print how the job stands; one that is gone has failed, and where nobody answers it is taken to be running."""
    found = subprocess.run(["kubectl", "get", arguments.job, "--output=json"], capture_output=True, text=True)
    if not found.returncode:
        print(outcome(json.loads(found.stdout)))
        return 0
    sys.stderr.write(found.stderr)
    print("failed" if "NotFound" in found.stderr else "running")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m attest.app.reproduce.kubernetes", description="A run as a Kubernetes job."
    )
    commands = parser.add_subparsers(required=True)
    submitting = commands.add_parser("submit", help="create a job and print its name")
    submitting.set_defaults(act=submit)
    submitting.add_argument("jobscript", type=Path)
    submitting.add_argument("--image", required=True)
    submitting.add_argument("--volume", required=True, help="<persistent volume claim>:<where it is mounted>")
    submitting.add_argument("--cpus", type=int, default=1)
    submitting.add_argument("--memory", default="8000M")
    submitting.add_argument("--gpus", type=int, default=0)
    asking = commands.add_parser("status", help="print running, success or failed")
    asking.set_defaults(act=status)
    asking.add_argument("job")
    parsed = parser.parse_args(arguments)
    return parsed.act(parsed)


if __name__ == "__main__":
    sys.exit(main())
