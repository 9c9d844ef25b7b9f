"""How a workflow is started: on this machine, or on a cluster as a profile says."""

import sys
from importlib.util import find_spec
from pathlib import Path

from attest.errors import AttestError, unknown_choice
from attest.extras import install_command
from attest.runs.choices import configs_folder
from attest.tables.process_group import run_as_group


def carry_out(command: list[str]) -> int:
    """Run Snakemake to its end; returns its exit code.

    Raises:
        AttestError: it is not installed.
    """
    if find_spec("snakemake") is None:
        raise AttestError(
            f"Snakemake is missing; expected it, because it starts the runs. Type: {install_command('reproduce')}"
        )
    return run_as_group(command)


def snakemake_command(snakefile: Path, configuration: Path, jobs: int, gpus: int, profile: str) -> list[str]:
    """What starts a workflow; locks are ours, since Snakemake's outlive a process that was killed.

    Args:
        snakefile: the workflow.
        configuration: its configuration file.
        jobs: at once, on this machine.
        gpus: to share out.
        profile: of the cluster; on this machine if empty.
    """
    scheduling = [f"--workflow-profile={profile_folder(profile)}"] if profile else [f"--cores={jobs}"]
    return [
        *(sys.executable, "-m", "snakemake", f"--snakefile={snakefile}", f"--configfile={configuration}"),
        *("--nolock", "--keep-going", "--rerun-incomplete", "--rerun-triggers", "mtime", "input"),
        *("--quiet", "rules", "host", "progress", f"--resources=gpu={gpus}", *scheduling),
    ]


def profile_folder(name: str) -> Path:
    """Where the profile of a cluster lies.

    Raises:
        AttestError: there is none of this name.
    """
    folder = configs_folder() / "profiles" / name
    if not folder.is_dir():
        known = [path.name for path in folder.parent.iterdir()]
        raise unknown_choice("PROFILE", name, known, "make reproduce TABLE=jw-2 PROFILE={}")
    return folder
