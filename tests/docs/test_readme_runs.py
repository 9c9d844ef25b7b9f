"""Every command of README.md runs as it stands there, in a folder of its own.

Commands come from README itself, so a new one is run, too. What is typed behind a command makes it shorter, and a reader could
type it as well.
"""

import csv
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from attest.app.cli.demo import MODEL, TEXTS
from docs.quoted import VARIES
from tests.conftest import fresh_shell

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMAND = re.compile(r"^```bash\n([^`]*)^```|^Next: +(.*)|`((?:make|attest|source) [^`\n]+)`", flags=re.MULTILINE)
"""A block of bash; the command that the output of another advises; a command within a sentence or a table."""
NOT_RUN = {
    "make test": "the tests cannot run themselves",
    "attest sources": "the name of a command, which needs a language model: tests/app/api/test_sources.py runs it",
    "attest explain --run runs/planted/jw-bilstm-additive-softmax/seed0 --id 420 --out text.svg": "a training that is made "
    "shorter lies in another folder",
}
"""The commands of README that are not run, and why."""
SMALL = "CUT=smoke EXPERIMENTS=verdict"
SHORTER = {"make train": SMALL, "make adversarial": SMALL, "make reproduce": "RUN=0"}
"""What is typed behind a command that begins like this."""


def commands() -> list[str]:
    """Return each command of README once, in its order and without its comment."""
    lines = "\n".join("".join(found.groups(default="")) for found in COMMAND.finditer(README)).splitlines()
    return [*dict.fromkeys(line.partition("#")[0].strip() for line in lines if line)]


def shorter(command: str) -> str:
    """Return a command with what is typed behind it."""
    return " ".join([command, *(words for begins, words in SHORTER.items() if command.startswith(begins))])


TYPED = [command for command in commands() if command not in NOT_RUN]
WHOLE = pytest.mark.whole("a command in a process of its own")


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    """What a reader has in a clone where make has installed Attest: the archive of the runs on SST, a model and its texts."""
    clone = tmp_path_factory.mktemp("clone")
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, clone)
    (clone / ".venv").mkdir()
    (clone / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    (clone / ".venv" / ".ready").touch()
    with tarfile.open(RESULTS / "runs-sst.tar.xz") as archive:
        archive.extractall(clone, filter="data")
    for kept in RESULTS.glob("*-sst/evidence.json"):
        (clone / "results" / kept.parent.name).mkdir(parents=True)
        shutil.copy(kept, clone / "results" / kept.parent.name)
    shutil.copytree(MODEL, clone / "my-model")
    with TEXTS.open(encoding="utf-8", newline="") as texts, (clone / "reviews.csv").open("w", newline="") as file:
        rows = list(csv.DictReader(texts))[:40]
        writer = csv.DictWriter(file, ["text", "label"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return clone


def said_by(command: str, clone: Path) -> str:
    """Type a command in a clone, with Attest's own commands in reach, and return what it prints."""
    shell = {name: value for name, value in fresh_shell().items() if not name.startswith(("MAKE", "MFLAGS"))}
    shell |= {"PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    typed = f"source .venv/bin/activate && {command}"
    done = subprocess.run(["bash", "-c", typed], cwd=clone, env=shell, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def test_every_command_is_found():
    lines = [line for line in README.splitlines() if re.match(r"(make|attest|source|Next:) |\\|.*`make ", line)]
    assert len(lines) >= 10
    assert [line for line in lines if not any(command in line for command in commands())] == []


def test_what_is_not_run_stands_in_readme():
    assert [command for command in NOT_RUN if command not in commands()] == []


@WHOLE
@pytest.mark.parametrize(
    "command", [pytest.param(each, marks=pytest.mark.corpora if "make train DATA=" in each else ()) for each in TYPED]
)
def test_a_command_runs_as_it_stands(command, clone):
    said = said_by(shorter(command), clone)
    if command == "make demo":
        (promised,) = re.findall(r"^Folder: .*?(?=```)", README, flags=re.MULTILINE | re.DOTALL)
        assert VARIES.sub("#", said).endswith(VARIES.sub("#", promised))
    elif command.startswith("make train"):
        for label in ("Run folder:", "Report:", "Verdict:"):
            assert f"\n{label}" in said
    elif command.startswith("make adversarial"):
        (base,) = (clone / "runs" / "planted").iterdir()
        assert f"{base.relative_to(clone)}/seed0/adversarial/" in said
    elif command.startswith("make reproduce"):
        (page,) = re.findall(r"\S+/table\.md", said)
        ours = RESULTS / Path(page).parent.name / "table.md"
        assert _page(clone / page) == _page(ours), "the table that docs/results shows"
    elif command.startswith("attest trial"):
        (report,) = re.findall(r"Report: +(\S+)", said)
        assert (clone / report).is_file()
    elif command.startswith("attest explain"):
        assert (clone / "text.svg").read_text(encoding="utf-8").startswith("<svg")
        (clone / "text.svg").unlink()
    else:
        assert command.startswith("source "), "say here what this command must print or write"


def _page(page: Path) -> str:
    """Return the page of a table without the command that wrote it."""
    return re.sub(r"^attest reproduce .*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
