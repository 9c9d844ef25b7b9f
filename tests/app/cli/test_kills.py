"""A command that was killed between two of its files ends, typed again, in the files of one that was left alone."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from attest.runs.folder import made_from
from tests.app.cli.test_reproduce import TABLE
from tests.conftest import fresh_shell
from tests.finished_runs import LIGHT, only_folder
from tests.forking import KILLED, attest_command

pytestmark = pytest.mark.whole("commands that are killed")
TIMED = ("timing.json", "report.html", ".log", ".ckpt", "metrics.csv")
"""What tells the time, how long something took or where it lies: pages end with it."""


def attest(arguments: list[str], kill: int = 0) -> tuple[int, int]:
    """Exit code, and how many files were written."""
    command = [*attest_command("tests.killed"), str(kill), *arguments]
    done = subprocess.run(command, env=fresh_shell(), capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, KILLED), done.stderr
    return done.returncode, 0 if done.returncode else int(done.stdout.split()[-1])


def files(root: Path) -> dict[str, object]:
    """All files but those that tell the time, by name, of tables their rows; nothing half written may be among them."""
    known = {str(path.relative_to(root)): path for path in sorted(root.rglob("*")) if path.is_file()}
    assert not [name for name in known if "unfinished" in name]
    return {name: b"" if name.endswith(TIMED) else content(path) for name, path in known.items()}


def content(path: Path) -> object:
    """The bytes of a file; of a table its rows, their types, and what the table says that it was made from."""
    if path.suffix != ".parquet":
        return path.read_bytes().partition(b"<!-- drawn from")[0]
    table = pq.read_table(path)
    return str(table.schema.remove_metadata()), repr(table.to_pydict()), made_from(path)


def survives(arguments: Callable[[Path], list[str]], before: Path | None, places: list[float], tmp_path: Path) -> None:
    """Kill a command at some of its files, each time in the same folder as it was before, and take it up.

    Args:
        arguments: of the command, for a folder.
        before: what is in the folder when it begins.
        places: of the files, in [0, 1).
        tmp_path: of the test.
    """
    root = tmp_path / "it"

    def anew() -> None:
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(before, root) if before is not None else root.mkdir()

    anew()
    _, count = attest(arguments(root))
    undisturbed = files(root)
    for place in places:
        anew()
        fatal = 1 + int(place * count)
        assert attest(arguments(root), fatal)[0] == KILLED, fatal
        assert attest(arguments(root))[0] == 0
        assert files(root) == undisturbed, f"killed at file {fatal} of {count}"


@pytest.fixture(scope="module")
def base(library) -> Path:
    """A folder of runs with one that is finished."""
    return library.root("light")


def test_fit(tmp_path):
    survives(lambda root: ["fit", *LIGHT, f"--run.root={root}"], None, [0.1, 0.7, 0.85, 0.95], tmp_path)


def test_evidence(base, tmp_path):
    def typed(root: Path) -> list[str]:
        return ["evidence", "--run", str(only_folder(root).path), "E8", "E2", "FORCE=1"]

    survives(lambda root: [*typed(root)[:-1]], base, [0.0, 0.3, 0.6, 0.9], tmp_path)


def test_evidence_until(base, tmp_path):
    until = ["--until=0.2", "--trainer.enable_progress_bar=false"]
    survives(lambda root: ["evidence", "--run", str(only_folder(root).path), "E8", *until], base, [0.5, 0.8], tmp_path)


def test_trial(model, tokenizer, tmp_path):
    for each in (model, tokenizer):
        each.save_pretrained(tmp_path / "model")
    (tmp_path / "texts.csv").write_text("text,label\na fine film,good\na film,bad\n")

    def typed(root: Path) -> list[str]:
        return [
            "trial",
            f"--model={tmp_path}/model",
            f"--data={tmp_path}/texts.csv",
            "--processes=1",
            f"--out={root}/out",
            "E2",
        ]

    survives(typed, None, [0.2, 0.5, 0.95], tmp_path)


def test_adversarial(base, tmp_path):
    def typed(root: Path) -> list[str]:
        return ["adversarial", *LIGHT, f"--run.root={root}", "LAMBDA=1e-3,1", "--", "--trainer.max_epochs=1"]

    survives(typed, base, [0.4, 0.97], tmp_path)


def test_reproduce(base, tmp_path):
    def typed(root: Path) -> list[str]:
        (root / "planted.yaml").write_text(TABLE)
        chosen = [each for each in LIGHT if not each.startswith("DATA=")]
        places = [f"--run.root={root}", f"--results={root}/results"]
        return ["reproduce", f"TABLE={root}/planted.yaml", "SEEDS=1", "RUN=0", *chosen, *places]

    survives(typed, base, [0.0, 0.6], tmp_path)
