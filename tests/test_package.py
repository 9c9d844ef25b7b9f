"""The package as people install it: one top-level name, complete, and deaf to folders that are called as ours are."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.conftest import fresh_shell
from tests.finished_runs import SMALL_TRAINING, only_folder

ROOT = Path(__file__).parents[1]
OURS = ("callbacks", "datamodules", "lightning_modules", "configs")
QUICK = (*SMALL_TRAINING, "LOGGER=csv", "EXPERIMENTS=weights", "--trainer.max_epochs=1")


def build(source: Path, kind: str, to: Path) -> Path:
    """A wheel or an sdist of a source tree, built without the network."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(to)], cwd=source, check=True)
    (built,) = to.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """An environment in which the wheel is installed and comes first, in a project whose folders have our names."""
    site, project = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("project")
    zipfile.ZipFile(wheel).extractall(site)
    for name in OURS:
        (project / name).mkdir()
        (project / name / "__init__.py").write_text("raise ImportError('this is the folder of somebody else')")
    return project, fresh_shell() | {"PYTHONPATH": str(site)}


def run(installed, *arguments: str) -> str:
    project, shell = installed
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=project, env=shell, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_wheel_has_one_top_level_name(wheel):
    names = {Path(name).parts[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"attest"}


def test_a_wheel_holds_every_file_of_the_repository_that_is_used(wheel):
    inside = set(zipfile.ZipFile(wheel).namelist())
    used = [path for folder in ("attest", *OURS) for path in (ROOT / folder).rglob("*") if path.is_file()]
    there = {path.relative_to(ROOT).as_posix() for path in used if "__pycache__" not in path.parts}
    expected = {name if name.startswith("attest/") else f"attest/{name}" for name in there}
    assert expected <= inside


@pytest.mark.whole("a built package")
def test_a_wheel_of_the_sdist_is_the_same(wheel, tmp_path):
    with tarfile.open(build(ROOT, "sdist", tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.glob("attest_attention-*")
    assert names(build(source, "wheel", tmp_path / "again")) == names(wheel)


def names(wheel: Path) -> list[str]:
    return sorted(zipfile.ZipFile(wheel).namelist())


def test_it_is_the_installed_one_that_runs(installed):
    (site,) = installed[1]["PYTHONPATH"].split(os.pathsep)
    assert run(installed, "-c", "import attest; print(attest.__file__)").startswith(site)


@pytest.mark.whole("a cold install")
def test_it_trains_beside_folders_that_are_called_as_ours(installed):
    run(installed, "-m", "attest", "fit", *QUICK, "--run.root=alone")
    assert only_folder(installed[0] / "alone").summary.is_file()


@pytest.mark.whole("a cold install")
def test_torchrun_starts_it_beside_folders_that_are_called_as_ours(installed):
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "-m", "attest", "fit"]
    run(installed, *launcher, *QUICK, "--trainer.devices=2", "--trainer.strategy=ddp", "--run.root=two")
    assert only_folder(installed[0] / "two").summary.is_file()


@pytest.fixture(scope="module")
def without_links(tmp_path_factory):
    """A checkout as zip files and Windows have it: a text file stands in the place of each link."""
    checkout = tmp_path_factory.mktemp("checkout")
    for name in ("attest", *OURS):
        shutil.copytree(ROOT / name, checkout / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, checkout)
    for name in OURS:
        (checkout / "attest" / name).unlink()
        (checkout / "attest" / name).write_text(f"../{name}")
    return checkout


@pytest.mark.whole("a built package")
def test_a_wheel_of_a_checkout_without_links_is_the_same(wheel, without_links, tmp_path):
    assert names(build(without_links, "wheel", tmp_path)) == names(wheel)


@pytest.mark.whole("a cold install")
def test_a_checkout_without_links_trains(without_links, tmp_path):
    shell = fresh_shell() | {"PYTHONPATH": str(without_links)}
    run((tmp_path, shell), "-m", "attest", "fit", *QUICK, "--run.root=alone")
    assert only_folder(tmp_path / "alone").summary.is_file()
