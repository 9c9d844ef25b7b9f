"""Docstrings name files that exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("attest", "benchmarks", "callbacks", "datamodules", "lightning_modules")
FILES = sorted({file.resolve() for room in ROOMS for file in (ROOT / room).rglob("*.py")})


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_file_that_a_module_names_is_there(file):
    said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    known = {f"/{other.relative_to(ROOT)}" for other in (*FILES, *(ROOT / "examples").glob("*.py"))}
    named = re.findall(r"``([\w/]+\.py)``", said)
    assert not [name for name in named if not any(path.endswith(f"/{name}") for path in known)]
