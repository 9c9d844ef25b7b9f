"""What a run was computed with."""

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("attest", "torch", "pytorch-lightning", "torchmetrics", "entmax", "datasets", "wandb", "scipy", "numpy")


def environment() -> dict[str, str]:
    """Versions of Python and of the packages that results may depend on, and the commit where there is one."""
    versions = {"python": platform.python_version(), "machine": platform.machine()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions | ({"commit": commit} if (commit := _commit()) else {})


def _commit() -> str | None:
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=5).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
