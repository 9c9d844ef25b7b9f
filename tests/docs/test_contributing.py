"""What CONTRIBUTING.md names is there, and the experiment that is added step by step works, word for word."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from attest.models.observation import Observation
from attest.runs.folder import read_table
from tests.conftest import fresh_shell
from tests.experiments.networks import observation_of, pooling_classifier
from tests.finished_runs import SMALL_RUN, only_folder

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
STEPS = (ROOT / "docs" / "your-own-experiment.md").read_text(encoding="utf-8")
PROJECTION = (ROOT / "docs" / "your-own-projection.md").read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def house(tmp_path_factory) -> Path:
    """A copy of the package and some of its tests, with the experiments and the projection that the pages add."""
    house = tmp_path_factory.mktemp("house")
    shutil.copytree(ROOT / "attest", house / "attest", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(
        ROOT / "tests" / "experiments", house / "tests" / "experiments", ignore=shutil.ignore_patterns("__pycache__")
    )
    (house / "tests" / "__init__.py").touch()
    (house / "tests" / "core" / "attention").mkdir(parents=True)
    experiment, test, inside, test_inside = blocks(STEPS, "python")
    line, line_inside = blocks(STEPS, "yaml")
    projection, test_projection = blocks(PROJECTION, "python")
    (house / "attest" / "core" / "attention" / "sigmoid.py").write_text(projection)
    (house / "tests" / "core" / "attention" / "test_sigmoid.py").write_text(test_projection)
    (house / "attest" / "configs" / "projection" / "sigmoid.yaml").write_text(*blocks(PROJECTION, "yaml"))
    (house / "attest" / "experiments" / "first_token.py").write_text(experiment)
    (house / "attest" / "experiments" / "layers" / "first_column.py").write_text(inside)
    (house / "tests" / "experiments" / "test_first_token.py").write_text(test)
    (house / "tests" / "experiments" / "layers" / "test_first_column.py").write_text(test_inside)
    with (house / "attest" / "configs" / "sizes.yaml").open("a") as file:
        file.write(line + line_inside)
    return house


def run(house: Path, *arguments: str) -> str:
    shell = fresh_shell() | {"PYTHONPATH": str(house)}
    done = subprocess.run([sys.executable, *arguments], cwd=house, env=shell, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def shapes_of_the_table() -> dict[str, tuple[str, list[str]]]:
    """Return the dtype and the letters of the shape of each attribute that the page names."""
    rows = re.findall(r"^\| (`.*?`) \| (float|bool|int64) (`.*?`) \|", STEPS, flags=re.MULTILINE)
    pairs = ((re.findall(r"`(\w+)`", names), dtype, re.findall(r"\(([\w, ]+)\)", shapes)) for names, dtype, shapes in rows)
    found = [(name, (dtype, shape)) for names, dtype, shapes in pairs for name, shape in zip(names, shapes * 2, strict=False)]
    return {name: (dtype, re.findall(r"\w", shape)) for name, (dtype, shape) in found}


@pytest.mark.parametrize("name", shapes_of_the_table())
def test_an_observation_has_what_the_page_says(name):
    observation: Observation = observation_of(pooling_classifier(), [5, 3])
    values, (dtype, letters) = getattr(observation, name), shapes_of_the_table()[name]
    if values is None:  # labels, which nobody gave
        return
    sizes = {"B": 2, "T": 5, "K": 2, "H": observation.hidden.shape[-1], "E": observation.embedded.shape[-1]}
    assert str(values.dtype).removeprefix("torch.").startswith(dtype)
    assert [*values.shape] == [sizes[letter] for letter in letters]


@pytest.mark.whole("an interpreter of its own")
def test_the_worked_example_of_an_experiment(house):
    left_out = ("E1", "E2", "E3", "E8", "E10", "E11", "E12", "E13", "E14", "E15", "E19")
    others = [f"--experiments.{name}=null" for name in left_out]
    run(house, "-m", "attest", "fit", *SMALL_RUN, *others, "LOGGER=csv", "--trainer.max_epochs=1")
    folder = only_folder(house / "runs")
    report = folder.report.read_text(encoding="utf-8")
    assert folder.evidence("E100").is_file()
    assert "How much attention lies on the first token?" in report
    assert re.search(r"The first token gets [\d.]+\s%\sof the attention", report)
    assert "A first token may well be the one that decides." in report
    assert "E100" in run(house, "-m", "attest", "evidence", "--run", str(folder.path), "E100")


@pytest.mark.whole("an interpreter of its own")
def test_the_worked_example_of_an_experiment_inside_layers(house):
    options = ["MODEL=transformer-dr", "CUT=smoke", "LOGGER=csv", "--trainer.max_epochs=1", "--run.root=runs-inside"]
    others = [f"--experiments.{name}=null" for name in ("E1", "E2", "E3", "E8", "E9", "E13", "E14", "E15", "E19", "maps")]
    run(house, "-m", "attest", "fit", *options, *others)
    folder = only_folder(house / "runs-inside")
    assert 0 < read_table(folder.evidence("E101"))["first"].mean() < 1
    assert "Inside the layers the first token gets" in folder.report.read_text(encoding="utf-8")


@pytest.mark.whole("an interpreter of its own")
def test_their_own_tests_pass(house):
    tests = ("tests/experiments/test_first_token.py", "tests/experiments/layers/test_first_column.py")
    run(house, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, "tests/core/attention/test_sigmoid.py")


@pytest.mark.whole("an interpreter of its own")
def test_the_worked_example_of_a_projection(house):
    run(
        house, "-m", "attest", "fit", "PROJECTION=sigmoid", "EXPERIMENTS=none", "CUT=smoke", "LOGGER=csv", "--run.root=sigmoid"
    )
    folder = only_folder(house / "sigmoid")
    assert folder.path.parent.name.startswith("jw-bilstm-additive-sigmoid")
    assert folder.report.is_file()


def test_every_file_that_the_page_names_is_there():
    named = re.findall(r"`((?:attest|configs|tests|docs)/[\w/.-]+)`", TEXT)
    missing = [name for name in named if not re.search("first_(token|column)|sigmoid", name) and not (ROOT / name).exists()]
    assert len(named) > 6
    assert not missing
