"""The oldest packages that pyproject.toml accepts, installed beside the others: a training runs with them."""

import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.conftest import ROOT, fresh_shell
from tests.library import LIGHT

TRIED = ("jsonargparse", "pytorch-lightning", "torchmetrics", "entmax", "jinja2", "tqdm")
"""Packages in Python alone that need no other version of what else is installed."""
UNREACHABLE = ("No matching distribution found", "Could not fetch URL", "Network is unreachable", "Connection")


def lowest() -> dict[str, str]:
    """The lower bound of each of these packages."""
    declared = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["project"]["dependencies"]
    bounds = {each.name: each.specifier for each in map(Requirement, declared)}
    return {name: next(each.version for each in bounds[name] if each.operator == ">=") for name in TRIED}


def test_each_package_that_is_tried_has_a_lower_bound():
    assert {*lowest()} == {*TRIED}


@pytest.mark.whole("a cold install")
def test_a_training_runs_with_the_oldest_packages(tmp_path):
    wanted = [f"{name}=={version}" for name, version in lowest().items()]
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path / "oldest")]
    done = subprocess.run([*install, *wanted], capture_output=True, text=True, timeout=600)
    if done.returncode and any(word in done.stderr for word in UNREACHABLE):
        pytest.skip(f"no package index can be reached: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    shell = fresh_shell() | {"PYTHONPATH": f"{tmp_path / 'oldest'}:{ROOT.parent}"}
    names = "import importlib.metadata as m, sys; print(*(f'{name}=={m.version(name)}' for name in sys.argv[1:]))"
    told = subprocess.run([sys.executable, "-c", names, *TRIED], env=shell, capture_output=True, text=True, check=True)
    loaded = {name: Version(version) for name, _, version in (each.partition("==") for each in told.stdout.split())}
    assert loaded == {name: Version(version) for name, version in lowest().items()}
    command = [sys.executable, "-m", "attest", "fit", *LIGHT, f"--run.root={tmp_path / 'runs'}"]
    run = subprocess.run(command, env=shell, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr[-3000:]
