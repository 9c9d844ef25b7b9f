"""What moved? Make the same small runs and trials at an older commit and here, and print each number that differs.

    make moved BASE=HEAD             # what changes move that are not committed; two to three minutes on two cores
    make moved BASE=v0.3.0 KEEP=x    # what moved since a release; x keeps the files of both sides, and every line

Both sides are computed on this machine at the same time, each by one core, so that no number depends on a processor and none
is stored. ``benchmarks/moved_cases.py`` says what is made, ``benchmarks/moved_compared.py`` what is compared. The end is
silent, but for a line, where nothing moved.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.moved_cases import CASES, FAILED, SECONDS
from benchmarks.moved_compared import Compared, Move, compare
from benchmarks.mutants import ROOT, copied

BEFORE, AFTER = "BASE", "here"
PRINTED = 200
"""Lines, beyond which each case shows its first ones and counts the others."""
TYPE = "Type for example: make moved BASE=HEAD"


def commit(base: str) -> str:
    """Return the commit that was named.

    Raises:
        SystemExit: there is none.
    """
    if not base:
        sys.exit(f"BASE is missing; expected the commit, branch or tag with which the numbers of now are compared. {TYPE}")
    command = ["git", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if found.returncode:
        sys.exit(f"BASE is {base!r}, which git does not know as a commit; expected a commit, a branch or a tag. {TYPE}")
    return found.stdout.strip()


def as_committed(base: str, folder: Path) -> Path:
    """Write the files of a commit into a folder. Git is only read: no work tree is left in it, whatever stops this."""
    folder.mkdir()
    command = ["git", "archive", "--format=tar", base, "--", ".", ":!docs/results"]
    archive = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    return folder


def as_it_stands(folder: Path) -> Path:
    """Copy the files as they are, with changes that are not committed."""
    folder.mkdir()
    return copied(folder)


def make_sides(trees: Mapping[str, Path], made: Path) -> None:
    """Make all cases of now with the code of both trees, at the same time.

    Raises:
        SystemExit: the code of a side does not start.
    """
    cases = trees[AFTER] / "benchmarks" / "moved_cases.py"
    with ended_with_us() as started:
        for side, tree in trees.items():
            command = [sys.executable, "-P", str(cases), str(made / side)]
            with (made / f"{side}.log").open("w") as log:
                outlets = {"stdout": log, "stderr": log, "start_new_session": True}
                started.append(subprocess.Popen(command, cwd=tree, env=environment(tree), **outlets))
        for process in started:
            process.wait()
    for side in trees:
        if not (made / side / SECONDS).is_file():
            sys.exit(f"the code of {side} does not start:\n{(made / f'{side}.log').read_text()}")


@contextmanager
def ended_with_us() -> Iterator[list[subprocess.Popen]]:
    """Give a list of processes, which are ended at the end of the block with all that they have started."""
    started: list[subprocess.Popen] = []
    ways = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(way, lambda number, frame: sys.exit(128 + number)) for way in ways]
    try:
        yield started
    finally:
        for process in started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        for way, handler in zip(ways, before, strict=True):
            signal.signal(way, handler)


def environment(tree: Path) -> dict[str, str]:
    """Return the environment of a side: its own code, one thread, no network, and nothing of the user's settings of Attest."""
    inherited = {name: value for name, value in os.environ.items() if name != "WANDB_SERVICE" and name[:7] != "ATTEST_"}
    alone = {"OMP_NUM_THREADS": "1", "WANDB_MODE": "offline", "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"}
    return inherited | alone | {"PYTHONPATH": str(tree)}


def of_case(before: Path, after: Path) -> Compared:
    """Compare a case; if a side could not make it, that is what moved."""
    failures = [
        Move(f"cannot be made {where}", (folder / FAILED).read_text())
        for where, folder in (("at BASE", before), ("here", after))
        if (folder / FAILED).is_file()
    ]
    return Compared(moves=failures) if failures else compare(before, after)


def told(compared: Mapping[str, Compared]) -> dict[str, list[str]]:
    """Return a line for each thing that moved, by case; what moved alike in several cases stands with the first of them."""
    cases: dict[Move, list[str]] = {}
    for name, each in compared.items():
        for move in each.moves:
            cases.setdefault(move, []).append(name)
    lines: dict[str, list[str]] = {}
    for move, (first, *others) in cases.items():
        also = f" and {len(others)} more" if others else ""
        lines.setdefault(first, []).append(f"{first}{also} · {move.where}: {move.what}")
    return lines


def printed(lines: Mapping[str, Sequence[str]], most: int = PRINTED) -> list[str]:
    """Return the lines of all cases; if they are too many, the first ones of each case, and how many more it has."""
    every = [line for own in lines.values() for line in own]
    if len(every) <= most:
        return every
    few = max(1, most // len(lines) - 1)
    rest = {case: [f"{case} · … and {len(own) - few} more lines"] if len(own) > few else [] for case, own in lines.items()}
    return [line for case, own in lines.items() for line in [*own[:few], *rest[case]]]


def ending(compared: Mapping[str, Compared]) -> str:
    """Return the line that says what was compared."""
    columns, pages = (sum(counts) for counts in zip(*((each.columns, each.pages) for each in compared.values()), strict=True))
    still = sum(not each.moves for each in compared.values())
    said = "Nothing moved" if still == len(compared) else f"{still} of {len(compared)} did not move"
    return f"{said}: {len(compared)} kinds of runs and trials, {columns:,} columns, {pages} pages."


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what moved; 1 if anything did."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.moved", description=__doc__.splitlines()[0])
    parser.add_argument("--base", default="", help="a commit, a branch or a tag")
    parser.add_argument("--keep", type=Path, help="a new folder, for the files of both sides and every line")
    typed = parser.parse_args(arguments)
    base = commit(typed.base)
    if typed.keep and typed.keep.exists():
        sys.exit(f"KEEP is {typed.keep}, which is there already; expected a new folder. Type KEEP=<another folder>")
    with tempfile.TemporaryDirectory(prefix="attest-moved-") as folder:
        room = Path(folder).resolve()
        made = typed.keep.resolve() if typed.keep else room / "made"
        made.mkdir(parents=True)
        make_sides({BEFORE: as_committed(base, room / BEFORE), AFTER: as_it_stands(room / AFTER)}, made)
        compared = {case.name: of_case(made / BEFORE / case.name, made / AFTER / case.name) for case in CASES}
    lines, last = told(compared), ending(compared)
    if typed.keep:
        every = [line for own in lines.values() for line in own]
        (made / "moved.txt").write_text("\n".join([*every, last, ""]))
    print("\n".join([*printed(lines), last]))
    return int(any(each.moves for each in compared.values()))


if __name__ == "__main__":
    sys.exit(main())
