"""The versions, the git commit and the peak memory of a run; and a function that silences warnings of Lightning."""

import logging
import os
import platform
import subprocess
import sys
import warnings
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from attest.core.version import __version__

PACKAGES = ("torch", "pytorch-lightning", "torchmetrics", "entmax", "datasets", "wandb", "scipy", "numpy", "captum")
NOT_INSTALLED = "not installed"
GIT = ("git", "--no-optional-locks")
"""The beginning of the git command that asks for the commit. It only reads, and so leaves no lock file behind if it is
interrupted."""


def version_line() -> str:
    """Return the line that ``attest --version`` prints, without importing the packages named in it."""
    known = environment()
    return f"attest {__version__}, torch {known['torch']}, lightning {known['pytorch-lightning']}, python {known['python']}"


def environment() -> dict[str, str]:
    """Return the versions of Python and of all packages that affect results, and the git commit if known."""
    versions = {"attest": __version__, "python": platform.python_version(), "machine": platform.machine()}
    versions |= {package: installed_version(package) for package in PACKAGES}
    return versions | ({"commit": known} if (known := commit()) else {})


def installed_version(package: str) -> str:
    """Return the version of a package; ``NOT_INSTALLED`` if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return NOT_INSTALLED


def made_by() -> dict[str, str]:
    """Return the version of Attest, which every table names. Its git commit is not part of it: git may not answer."""
    return {"attest": __version__}


def peak_memory() -> dict[str, float]:
    """Return the peak memory of this process so far, in MiB: main memory, if the system reports it, and GPU memory."""
    import torch

    peak = {}
    with suppress(ImportError):
        import resource  # not on Windows

        kibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "darwin" else 1)
        peak["resident_mib"] = round(kibibytes / 1024, 1)
    if torch.cuda.is_initialized():
        peak["gpu_mib"] = round(torch.cuda.max_memory_allocated() / 2**20, 1)
    return peak


@cache
def commit() -> str | None:
    """Return the git commit of Attest, asked for once in a process; None if git does not know or does not answer in time."""
    command = [*GIT, "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=5).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def quieten() -> None:
    """Silence warnings of Lightning about speed and deprecation; errors and messages of Attest remain.

    Import Lightning before the call, because Lightning sets its own log level when it is imported.
    """
    from lightning_fabric.utilities.warnings import PossibleUserWarning

    os.environ.setdefault("WANDB_SILENT", "true")
    for library in ("pytorch_lightning", "lightning_fabric"):
        logging.getLogger(library).setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", category=PossibleUserWarning)
    warnings.filterwarnings("ignore", category=FutureWarning, module="pytorch_lightning")
