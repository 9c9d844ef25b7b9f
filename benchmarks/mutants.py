"""Do the tests notice? Break the code by hand-written changes, one at a time, and run the tests that each must fail.

``mutants.yaml`` lists the changes. They are made in a copy of the tree, so that nothing of the user's is touched; tests run in
a process forked for each, so that libraries are loaded once. ``make mutants SEARCH=1`` then lets ``mutmut`` think up
changes of its own for the files that pyproject.toml names.
"""

import argparse
import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
LIBRARIES = (
    "torch",
    "pytorch_lightning.cli",
    "jsonargparse",
    "pandas",
    "scipy.stats",
    "hypothesis",
    "wandb",
    "entmax",
    "torchmetrics",
)
"""Loaded before forking; nothing of this project, which every fork reads anew."""
ROOM = "benchmarks"
PASSED, FAILED = 0, 1
"""pytest's exit codes; any other says that it could not run the tests."""


@dataclass(frozen=True)
class Mutant:
    """A change that is an error.

    Attributes:
        name: what goes wrong, in words.
        file: relative to the root of the repository.
        old: text that stands in it exactly once.
        new: what it becomes.
        tests: what must fail, in pytest's words: ``tests/test_x.py::test_y``, separated by blanks.
        group: a word that several have in common; empty for none.
    """

    name: str
    file: str
    old: str
    new: str
    tests: str
    group: str = ""

    def broken(self, content: str) -> str:
        """Return the file's content with the error in it.

        Raises:
            ValueError: the old text does not stand there exactly once; the list must follow the code.
        """
        if content.count(self.old) != 1:
            raise ValueError(
                f"{self.name}: {self.old!r} stands {content.count(self.old)} times in {self.file}; expected once."
            )
        return content.replace(self.old, self.new)


def mutants(named: str = "") -> list[Mutant]:
    """Return those errors of ``mutants.yaml`` whose name, file or group contains a word."""
    listed = yaml.safe_load((ROOT / "benchmarks" / "mutants.yaml").read_text(encoding="utf-8"))
    every = (Mutant(**each) for each in listed)
    return [mutant for mutant in every if named in f"{mutant.name} {mutant.file} {mutant.group}"]


def copied(folder: Path) -> Path:
    """Copy the files that git tracks or would track, and of its links as links."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", ":!docs/results"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file() or (ROOT / name).is_symlink():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    return folder


def outcome(tests: str, tree: Path) -> int:
    """Return pytest's exit code in a fork that imports the tree."""
    fork = get_context("fork").Process(target=_test, args=(tests.split(), tree))
    fork.start()
    fork.join()
    return fork.exitcode if fork.exitcode is not None else -1


def _test(tests: list[str], tree: Path) -> None:
    os.chdir(tree)
    sys.path.insert(0, str(tree))
    for name in [name for name in sys.modules if name.partition(".")[0] == ROOM]:
        del sys.modules[name]  # this file's own package, which would hide the tree's
    os.environ |= {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}  # also of processes that the tests start
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        code = pytest.main(["-x", "-p", "no:cacheprovider", *tests])
    os._exit(code)


def survives(mutant: Mutant, tree: Path) -> bool:
    """Return whether its tests pass although the code is wrong.

    Raises:
        RuntimeError: they cannot be run.
    """
    file = tree / mutant.file
    sound = file.read_text(encoding="utf-8")
    file.write_text(mutant.broken(sound), encoding="utf-8")
    code = outcome(mutant.tests, tree)
    file.write_text(sound, encoding="utf-8")
    if code not in (PASSED, FAILED):
        raise RuntimeError(f"{mutant.name}: pytest {mutant.tests} ended with code {code}; expected tests that run.")
    return code == PASSED


def main(arguments: Sequence[str] | None = None) -> int:
    """Try every change; 1 if any survives, or if tests fail on the code as it is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="a word in the name, file or group of those to try")
    chosen = mutants(parser.parse_args(arguments).only)
    sys.dont_write_bytecode = True  # a file that changes twice a second is taken for unchanged
    for library in LIBRARIES:
        import_module(library)
    with tempfile.TemporaryDirectory() as folder:
        tree = copied(Path(folder).resolve())
        if outcome(" ".join(sorted({test for mutant in chosen for test in mutant.tests.split()})), tree) != PASSED:
            print("These tests fail on the code as it is; mend that first.")
            return 1
        survivors = []
        for mutant in chosen:
            alive = survives(mutant, tree)
            survivors += [mutant.name] if alive else []
            print(f"{'SURVIVED' if alive else 'killed  '}  {mutant.file}: {mutant.name}", flush=True)
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} were noticed.")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
