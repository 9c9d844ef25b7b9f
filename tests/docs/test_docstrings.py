"""Docstrings name files that exist."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("attest", "benchmarks", "callbacks", "datamodules", "lightning_modules")
FILES = sorted({file.resolve() for room in ROOMS for file in (ROOT / room).rglob("*.py")})


KNOWN = [f"/{file.relative_to(ROOT)}" for file in (*FILES, *(ROOT / "examples").glob("*.py"))]


def named_in(file: Path) -> list[str]:
    """The files that the docstring of a module names."""
    said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return re.findall(r"``([\w/]+\.py)``", said)


def test_a_file_that_a_module_names_is_there():
    named = [(file.relative_to(ROOT), name) for file in FILES for name in named_in(file)]
    assert len(named) > 10
    gone = [f"{file} names {name}" for file, name in named if not any(path.endswith(f"/{name}") for path in KNOWN)]
    assert not gone, "\n".join(gone)
