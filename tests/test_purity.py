"""The core knows nothing of training, tracking, files of runs, or commands."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE = ("core", "models", "experiments", "judges")
ADVISING = ("core/catalogue.py", "core/errors.py", "core/labels.py", "core/processes.py", "models/pretrained/")
"""Files whose errors say what to type."""
FILES = [file.relative_to(ROOT / "attest") for room in CORE for file in sorted((ROOT / "attest" / room).rglob("*.py"))]
COMMAND = re.compile(
    r"\b[A-Z]{4,}=\w|(?<!\w)--\w|\b(make|attest) (train|fit|controls|keys|adversarial|evidence|doctor|report)\b"
)
"""What only somebody types who sits at a terminal: MODEL=bilstm, --run.root, make train."""


def test_imports_go_one_way():
    """The contracts in pyproject.toml, which ``make check`` holds too."""
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def strings_of(file: Path) -> Iterator[tuple[int, str]]:
    """The strings of a file below ``attest``, each with its line."""
    for node in ast.walk(ast.parse((ROOT / "attest" / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def test_the_core_speaks_of_no_command():
    files = [file for file in FILES if not file.as_posix().startswith(ADVISING)]
    assert len(files) > 80
    found = [f"attest/{file}:{line}: {text}" for file in files for line, text in strings_of(file) if COMMAND.search(text)]
    assert not found, "\n".join(found)
