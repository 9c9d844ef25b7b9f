"""CPU seconds of commands before and now, by turns in one sitting: how long a user waits for an answer.

    python -m benchmarks.commands --before 4fb7fe1 --turns 2

*Before* is another commit, checked out beside this one; both use the libraries of this environment. Each side trains a small
planted run of its own first. CPU seconds are user and system time of the command and of the processes that it started.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

HERE = Path(__file__).parents[1]
RUN, ROOT = "{run}", "{root}"
"""In a command, the folder of the side's run, and of all its runs."""


@dataclass(frozen=True)
class Timed:
    """A command, and what is removed before it."""

    words: tuple[str, ...]
    anew: tuple[str, ...] = ()
    """Below the side's folder; so that nothing is there that the command has made before."""


PLAN = ("reproduce", "TABLE=all", "DRY=1")
COMMANDS = {
    "--help": Timed(("--help",)),
    "a typing mistake: fit DATA=sstt": Timed(("fit", "DATA=sstt")),
    "a typing mistake: adversarial DATA=sstt": Timed(("adversarial", "DATA=sstt")),
    "a typing mistake: fit --model.init_args.nettwork=1": Timed(("fit", "DATA=sst", "--model.init_args.nettwork=1")),
    "a typing mistake: fit --trainer.max_epochs=three": Timed(("fit", "DATA=sst", "--trainer.max_epochs=three")),
    "a typing mistake: fit --data.init_args.protocol=jw-papr": Timed(("fit", "DATA=sst", "--data.init_args.protocol=jw-papr")),
    "a typing mistake: fit PROTOCOL=jw-papr": Timed(("fit", "DATA=sst", "PROTOCOL=jw-papr")),
    "doctor": Timed(("doctor",)),
    "explain --help": Timed(("explain", "--help")),
    "table": Timed(("table", ROOT)),
    "report, nothing drawn": Timed(("report", RUN), ("run/figures", "run/report.html")),
    "report, the page gone": Timed(("report", RUN), ("run/report.html",)),
    "report, nothing changed": Timed(("report", RUN)),
    "reproduce TABLE=jw-2 DRY=1": Timed(("reproduce", "TABLE=jw-2", "DRY=1")),
    "reproduce TABLE=all DRY=1, first": Timed(PLAN, ("cache",)),
    "reproduce TABLE=all DRY=1, again": Timed(PLAN),
    "fit CUT=smoke": Timed(("fit", "DATA=planted", "CUT=smoke", "LOGGER=csv", f"--run.root={ROOT}"), ("runs",)),
}


@dataclass
class Side:
    """One state of the code, with runs and a cache of its own below a folder."""

    code: Path
    folder: Path
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def run(self, timed: Timed) -> float:
        """CPU seconds of a command."""
        for name in timed.anew:
            self._remove(self.folder / name)
        words = [word.format(run=self.folder / "run", root=self.folder / "runs") for word in timed.words]
        return cpu_seconds([sys.executable, "-m", "attest", *words], self.folder, self._environment())

    def train(self) -> None:
        """The run that is looked at: ``run`` leads to it."""
        self.run(COMMANDS["fit CUT=smoke"])
        found = next((self.folder / "runs").rglob("summary.json")).parent
        shutil.copytree(found, self.folder / "run")

    def _environment(self) -> dict[str, str]:
        ours = {"PYTHONPATH": str(self.code), "ATTEST_CACHE": str(self.folder / "cache"), "OMP_NUM_THREADS": "1"}
        return os.environ | ours | {"HF_HUB_OFFLINE": "1", "WANDB_MODE": "offline"}

    def _remove(self, path: Path) -> None:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def cpu_seconds(command: Sequence[str], folder: Path, environment: dict[str, str]) -> float:
    """User and system time of a command and of all that it has started.

    Raises:
        RuntimeError: it ended with a traceback.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if "Traceback (most recent call last)" in done.stderr:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def race(sides: Sequence[Side], commands: dict[str, Timed], turns: int) -> None:
    """Run every command on every side, one after the other, ``turns`` times; ``seconds`` of each side grow."""
    for name, timed in commands.items():
        for _ in range(turns):
            for side in sides:
                side.seconds.setdefault(name, []).append(side.run(timed))


def table(before: Side, now: Side) -> str:
    """Medians in Markdown, with the share of the time before that is left."""
    lines = ["| command | before s | now s | left |", "| --- | --- | --- | --- |"]
    for name, times in before.seconds.items():
        then, ours = median(times), median(now.seconds[name])
        lines.append(f"| `{name}` | {then:.2f} | {ours:.2f} | {ours / then:.0%} |")
    return "\n".join(lines)


@contextmanager
def checked_out(commit: str, folder: Path) -> Iterator[Path]:
    """Another commit's files, in a worktree that is removed afterwards."""
    git = ("git", "-C", str(HERE), "worktree")
    subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
    try:
        yield folder
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True, help="a commit")
    parser.add_argument("--turns", type=int, default=2, help="of each side")
    parser.add_argument("--only", default="", help="how the commands to run begin, such as report")
    typed = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, checked_out(typed.before, Path(place, "code")) as code:
        sides = [Side(code, Path(place, "before")), Side(HERE, Path(place, "now"))]
        for side in sides:
            side.folder.mkdir()
            side.train()
        race(sides, {name: timed for name, timed in COMMANDS.items() if name.startswith(typed.only)}, typed.turns)
        print(table(*sides))


if __name__ == "__main__":
    main()
