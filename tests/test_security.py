"""No file is trusted, nothing of a user's text is run, and no secret is written anywhere."""

import ast
import contextlib
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from attest.runs.folder import YAML
from attest.tables.definition import AS_TYPED
from tests.conftest import SMALL_RUN, fresh_shell, only_folder
from tests.forking import attest_command

ROOT = Path(__file__).parents[1]
ROOMS = ("attest", "callbacks", "datamodules", "lightning_modules", "benchmarks")
SOURCES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
FORBIDDEN_CALLS = {"eval", "exec", "os.system", "os.popen", "yaml.unsafe_load", "np.load", "torch.jit.load"}
PLAIN_YAML = {"yaml.BaseLoader", "yaml.SafeLoader", "yaml.CSafeLoader", "YAML", "AS_TYPED"}
"""Loaders that make plain values alone; the last two are ours, each one of these or its twin in C."""
SECRETS = {
    "WANDB_API_KEY": "5ecre7" + "0" * 34,
    "HF_TOKEN": "hf_5ecre7" + "x" * 28,
    "AWS_SECRET_ACCESS_KEY": "5ecre7aws" + "y" * 30,
}


def calls(path: Path) -> list[ast.Call]:
    return [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]


def reads_checkpoints(name: str) -> bool:
    return re.fullmatch(r"(self\.)?trainer\.(fit|test|validate|predict)", name) is not None


def options(call: ast.Call) -> dict[str | None, str]:
    return {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_unpickles_evaluates_or_runs_a_shell(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names} | {getattr(node, "module", None) or ""}
            assert not {name.split(".")[0] for name in names} & FORBIDDEN_MODULES
    for call in calls(path):
        name, given = ast.unparse(call.func), options(call)
        assert name not in FORBIDDEN_CALLS, name
        assert given.get("shell", "False") == "False"
        assert given.get("trust_remote_code", "False") == "False"
        if re.fullmatch(r"(kind|AutoModel\w*)\.from_pretrained", name):
            assert given.get("use_safetensors") == "True"
        if name == "torch.load" or (reads_checkpoints(name) and "ckpt_path" in given):
            assert given.get("weights_only") == "True", f"line {call.lineno}"
        if name == "yaml.load":
            assert {ast.unparse(argument) for argument in call.args[1:]} | {*given.values()} <= PLAIN_YAML


def test_our_loaders_make_plain_values_alone():
    assert YAML.__name__ in ("CSafeLoader", "SafeLoader")
    assert AS_TYPED.__name__ in ("CBaseLoader", "BaseLoader")
    for loader in (YAML, AS_TYPED):
        with contextlib.suppress(yaml.YAMLError):
            assert isinstance(yaml.load("!!python/object/apply:os.getcwd []", loader), list), "a tag that would run code"


def test_pages_escape_all_but_drawings_and_data_of_ours():
    templates = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "attest" / "report").rglob("*.html"))
    assert set(re.findall(r"([\w.]+) *\| *safe", templates)) <= {"svg", "figure", "data"}, "each is made by our own code"
    assert not re.search(r"autoescape +false", templates)


def test_dependencies_are_pinned_exactly_where_the_makefile_installs_from():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.!]+", line) for line in lines)
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in lines}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [re.match(r"[\w-]+", line)[0] for line in [*project["dependencies"], *project["optional-dependencies"]["dev"]]]
    assert {name.lower() for name in asked} - {"attest-attention"} <= pinned, "but for its own extras"
    assert re.search(r"pip install [^\n]*--constraint constraints\.txt", (ROOT / "Makefile").read_text())
    scripts = [path.read_text() for path in (ROOT / ".ci").iterdir()]
    assert scripts
    assert not any("pip install" in script for script in scripts), "CI installs by make alone"


@pytest.mark.slow
def test_no_file_of_a_run_holds_a_secret_of_the_environment(tmp_path):
    command = [*attest_command(), "fit", *SMALL_RUN, f"--run.root={tmp_path}"]
    result = subprocess.run(command, env=fresh_shell() | SECRETS, capture_output=True, check=True, timeout=600)
    run = only_folder(tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert run.report in files
    assert any("wandb" in path.parts for path in files)
    everything = {"stdout": result.stdout, "stderr": result.stderr} | {str(path): path.read_bytes() for path in files}
    for name, secret in SECRETS.items():
        assert not [where for where, content in everything.items() if secret.encode() in content], name
