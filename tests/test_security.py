"""No file is trusted, nothing of a user's text is run, and no secret is written anywhere."""

import ast
import contextlib
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from attest.core.bounded_yaml import YAML
from attest.runs.published_tables import AS_TYPED
from tests.conftest import fresh_shell
from tests.finished_runs import SMALL_RUN, only_folder
from tests.forking import attest_command

ROOT = Path(__file__).parents[1]
ROOMS = ("attest", "callbacks", "datamodules", "lightning_modules", "benchmarks")
SOURCES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
FORBIDDEN_CALLS = {"eval", "exec", "os.system", "os.popen", "yaml.unsafe_load", "np.load", "torch.jit.load"}
PLAIN_YAML = {"yaml.BaseLoader", "yaml.SafeLoader", "yaml.CSafeLoader", "YAML", "AS_TYPED"}
"""Loaders that make plain values alone; the last two are ours, each one of these or its twin in C."""
DANGEROUS = {
    *("eval", "query", "exec", "exec_module", "import_module", "__import__", "load", "load_checkpoint"),
    *("rmtree", "unlink", "rmdir", "system", "popen", "Popen", "run", "execvp", "call", "check_output"),
}
"""Calls that compute or import what they are given, build objects from bytes, delete, or start processes."""
OURS, TYPED = "names of ours alone", "what the user typed"
REACHES = {
    ("attest/app/api/trials.py", "(folder.path / UNFINISHED).unlink"): "a file that this process has made",
    ("attest/__init__.py", "import_module"): OURS,
    ("attest/app/api/foreign.py", "load"): "a folder of a model: safetensors alone, see models/pretrained/loading.py",
    ("attest/core/attention/multihead.py", "self.query"): "numbers: a layer of ours",
    ("attest/core/attention/scoring.py", "self.query"): "numbers: a layer of ours",
    ("attest/judges/population.py", "self.query"): "numbers: a layer of ours",
    ("attest/app/cli/doctor.py", "load"): OURS,
    ("attest/app/cli/main.py", "import_module"): "names of ours alone: commands are looked up in a list",
    ("attest/app/cli/trial.py", "load"): "a model's folder: safetensors alone, see models/pretrained/loading.py",
    ("attest/experiments/registry.py", "import_module"): OURS,
    ("attest/experiments/registry.py", "self.run"): "numbers: an experiment of ours",
    (
        "attest/report/figures.py",
        "(folder.figures / stale).unlink",
    ): "a run's list of figures: plain names in a folder that is no link",
    (
        "attest/runs/capabilities.py",
        "import_module",
    ): "what the user typed, for a base run of this command; never a folder's settings",
    ("attest/app/configured.py", "self.folder.evidence(outdated).unlink"): "tables of a claimed run, by ids of experiments",
    ("attest/app/configured.py", "yaml.load"): "what our parser has written out",
    ("attest/app/cli/sync.py", "subprocess.run"): "wandb sync of folders that the user named, as a list of words",
    ("attest/app/dependent.py", "torch.load"): "a checkpoint, weights_only",
    (
        "attest/runs/folder.py",
        "self.evidence(identity).unlink",
    ): "experiments of the run: words without a slash, see require_trusted of evaluating.py",
    (
        "attest/runs/folder.py",
        "each.unlink",
    ): "what lies in the folder of a trial that was stopped while it was written, named again with --out; no folder is a link",
    ("attest/runs/folder.py", "self.path.rmdir"): "an empty folder that this process has made",
    (
        "attest/runs/folder.py",
        "shutil.rmtree",
    ): "the run that the user begins afresh with FORCE=1, or a trial that was stopped; links in it are not followed",
    (
        "attest/report/tracking/wandb_report.py",
        "second.unlink",
    ): "a second name that this process gives a file in W&B's folder",
    ("attest/report/tracking/wandb_report.py", "torch.load"): "a checkpoint, weights_only",
    ("attest/runs/folder.py", "temporary.unlink"): "a file that this process has made",
    (
        "attest/runs/folder.py",
        "unfinished.unlink",
    ): "files of a claimed run, in which no folder is a link, that end as ours do",
    ("attest/runs/folder.py", "yaml.load"): "a run's settings: plain values, see bounded_yaml.py",
    ("attest/app/evaluating.py", "self.trainer.strategy.checkpoint_io.load_checkpoint"): "a checkpoint, weights_only",
    ("attest/app/training.py", "run.trainer.strategy.checkpoint_io.load_checkpoint"): "a checkpoint, weights_only",
    ("attest/app/places.py", "shutil.rmtree"): "unfinished folders of trials, by the ending of their names",
    ("attest/core/ending.py", "subprocess.Popen"): "a process of ours that watches this one; it gets the number of a group",
    ("attest/runs/versions.py", "subprocess.run"): "git in the folder of our own code and configs",
    ("attest/runs/asked.py", "yaml.load"): "what the user typed: plain values, see bounded_yaml.py",
    (
        "attest/runs/expression.py",
        "rows.eval",
    ): "a table of anybody's: numbers, columns and operators alone, written out from the tree",
    ("attest/runs/published_tables.py", "yaml.load"): "a table of anybody's: plain values, see bounded_yaml.py",
    ("attest/replication/workflow.py", "os.execvp"): "the command that attest reproduce has put together",
    (
        "attest/replication/workflow.py",
        "subprocess.Popen",
    ): "Snakemake, with a list of words; runs of a table: see runs/published_tables.py",
    ("callbacks/checkpoints.py", "super().load_checkpoint"): "a checkpoint, weights_only",
    ("datamodules/__init__.py", "import_module"): OURS,
    ("datamodules/word_vectors.py", "downloaded.unlink"): "an archive that this process has fetched",
}
"""By file and call, whose input reaches it."""
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


def offences(path: Path) -> Iterator[str]:
    """Where a file unpickles, evaluates or runs a shell, or may do so: file, line, what."""
    tree, where = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(ROOT)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names} | {getattr(node, "module", None) or ""}
            for module in {name.split(".")[0] for name in names} & FORBIDDEN_MODULES:
                yield f"{where}:{node.lineno}: imports {module}"
        elif isinstance(node, ast.Call):
            yield from (f"{where}:{node.lineno}: {what}" for what in offences_of(node))


def offences_of(call: ast.Call) -> Iterator[str]:
    name, given = ast.unparse(call.func), options(call)
    if name in FORBIDDEN_CALLS:
        yield f"calls {name}"
    for option in ("shell", "trust_remote_code"):
        if given.get(option, "False") != "False":
            yield f"{name} with {option}={given[option]}"
    if re.fullmatch(r"(kind|AutoModel\w*)\.from_pretrained", name) and given.get("use_safetensors") != "True":
        yield f"{name} without use_safetensors=True"
    if (name == "torch.load" or (reads_checkpoints(name) and "ckpt_path" in given)) and given.get("weights_only") != "True":
        yield f"{name} without weights_only=True"
    if name == "yaml.load" and not {ast.unparse(argument) for argument in call.args[1:]} | {*given.values()} <= PLAIN_YAML:
        yield f"{name} with a loader that may make more than plain values"


def test_nothing_unpickles_evaluates_or_runs_a_shell():
    assert len(SOURCES) > 250
    found = [each for path in SOURCES for each in offences(path)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("import pickle", "imports pickle"),
        ("from joblib.numpy_pickle import load", "imports joblib"),
        ("eval(typed)", "calls eval"),
        ("numbers = [exec(typed)]", "calls exec"),
        ("os.system(typed)", "calls os.system"),
        ("subprocess.run(typed, shell=True)", "subprocess.run with shell=True"),
        ("AutoTokenizer.from_pretrained(name, trust_remote_code=asked)", "with trust_remote_code=asked"),
        ("AutoModel.from_pretrained(name)", "without use_safetensors=True"),
        ("torch.load(path)", "torch.load without weights_only=True"),
        ("trainer.test(model, ckpt_path=path)", "trainer.test without weights_only=True"),
        ("yaml.load(text, yaml.UnsafeLoader)", "with a loader that may make more than plain values"),
    ],
)
def test_what_is_dangerous_is_found_and_its_place_named(line, said, tmp_path, monkeypatch):
    monkeypatch.setattr("tests.test_security.ROOT", tmp_path)
    (tmp_path / "mine.py").write_text(f"import os\n{line}\n")
    (found,) = offences(tmp_path / "mine.py")
    assert found.startswith("mine.py:2: ")
    assert found.endswith(said)


def dangerous(path: Path) -> set[tuple[str, str]]:
    named = {(ast.unparse(call.func), bool(call.args)) for call in calls(path)}
    found = {name for name, given in named if name.rpartition(".")[2] in DANGEROUS and (given or not name.endswith("eval"))}
    return {(str(path.relative_to(ROOT)), name) for name in found}


def test_of_every_call_that_runs_reads_or_deletes_it_is_said_whose_input_reaches_it():
    """A new one needs an entry in ``REACHES``, and a look at what a stranger could put into it."""
    product = [path for path in SOURCES if path.relative_to(ROOT).parts[0] != "benchmarks" and not path.is_symlink()]
    assert {each for path in product for each in dangerous(path)} == REACHES.keys()


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


@pytest.mark.whole("a command in a process of its own")
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
