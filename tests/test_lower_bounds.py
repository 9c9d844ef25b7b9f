"""The oldest packages that pyproject.toml accepts: Attest runs with some beside the newest others, and with all at once."""

import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from docs.generate import pinned
from tests.conftest import ROOT, fresh_shell
from tests.finished_runs import LIGHT, SMALL_RUN

TRIED = ("jsonargparse", "pytorch-lightning", "torchmetrics", "entmax", "jinja2", "tqdm")
"""Packages in Python alone that need no other version of what else is installed."""
FILE = "constraints-lowest.txt"
"""The oldest versions that were tried together, and what they need."""
TRIAL = """
import csv
import attest
from attest.app.cli.demo import MODEL, TEXTS
rows = list(csv.DictReader(TEXTS.open(encoding="utf-8")))[:40]
print(attest.trial(str(MODEL), [row["text"] for row in rows], labels=[row["label"] for row in rows]).verdict)
"""
UNREACHABLE = ("No matching distribution found", "Could not fetch URL", "Network is unreachable", "Connection")


def lower_bounds() -> dict[str, str]:
    """The lower bound of each package that Attest needs, with the extra for Transformers."""
    project = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["transformers"]]
    return {
        each.name: next(bound.version for bound in each.specifier if bound.operator == ">=")
        for each in map(Requirement, needed)
    }


def lowest() -> dict[str, str]:
    """The lower bound of each of the packages in Python alone."""
    return {name: bound for name, bound in lower_bounds().items() if name in TRIED}


def installed(python: str | Path, names: list[str], shell: dict[str, str]) -> dict[str, Version]:
    """The version of each package that an interpreter loads; that of torch without the processor it was built for."""
    asks = "import importlib.metadata as m, sys; print(*(f'{name}=={m.version(name)}' for name in sys.argv[1:]))"
    told = subprocess.run([python, "-c", asks, *names], env=shell, capture_output=True, text=True, check=True)
    versions = (each.partition("==") for each in told.stdout.split())
    return {name: Version(Version(version).public) for name, _, version in versions}


def test_each_package_that_is_tried_has_a_lower_bound():
    assert {*lowest()} == {*TRIED}


def test_each_lower_bound_is_the_version_that_was_tried():
    """Whoever changes a bound writes the file again, as it says at its top, and types ``make lowest``."""
    tried = pinned(FILE)
    differ = {
        name: tried.get(name) for name, bound in lower_bounds().items() if Version(tried.get(name, "0")) != Version(bound)
    }
    assert differ == {}


@pytest.mark.whole("a cold install")
def test_a_training_runs_with_the_oldest_packages(tmp_path):
    wanted = [f"{name}=={version}" for name, version in lowest().items()]
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path / "oldest")]
    done = subprocess.run([*install, *wanted], capture_output=True, text=True, timeout=600)
    if done.returncode and any(word in done.stderr for word in UNREACHABLE):
        pytest.skip(f"no package index can be reached: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    shell = fresh_shell() | {"PYTHONPATH": f"{tmp_path / 'oldest'}:{ROOT.parent}"}
    bounds = {name: Version(version) for name, version in lowest().items()}
    assert installed(sys.executable, [*TRIED], shell) == bounds
    command = [sys.executable, "-m", "attest", "fit", *LIGHT, f"--run.root={tmp_path / 'runs'}"]
    run = subprocess.run(command, env=shell, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr[-3000:]


@pytest.fixture
def emptied() -> Iterator[Path]:
    """A folder that is removed with its gigabytes, whereas pytest keeps its own for a while."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.whole("a cold install of gigabytes")
@pytest.mark.skipif("ATTEST_LOWEST" not in os.environ, reason="installs gigabytes: type make lowest")
def test_all_of_attest_runs_with_the_oldest_packages_together(emptied):
    lower_python = ".".join(map(str, sys.version_info[:2]))
    assert f">={lower_python}" == tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["project"]["requires-python"]
    shell = {name: value for name, value in fresh_shell().items() if name != "PYTHONPATH"}

    def type_in(*command: str | Path, seconds: int) -> str:
        done = subprocess.run(command, cwd=emptied, env=shell, capture_output=True, text=True, timeout=seconds)
        assert done.returncode == 0, f"{command}\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    fresh = emptied / "fresh" / "bin"
    type_in(sys.executable, "-m", "venv", fresh.parent, seconds=120)
    wanted = ["--constraint", ROOT.parent / FILE, f"{ROOT.parent}[transformers]"]
    type_in(fresh / "pip", "install", "--quiet", *wanted, seconds=3600)
    bounds = {name: Version(version) for name, version in lower_bounds().items()}
    assert installed(fresh / "python", [*bounds], shell) == bounds
    type_in(fresh / "attest", "fit", *SMALL_RUN, seconds=600)
    assert "Verdict:    Yes." in type_in(fresh / "attest", "demo", seconds=600)
    assert type_in(fresh / "python", "-c", TRIAL, seconds=600).startswith("Yes.")
