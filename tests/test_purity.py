"""The core knows nothing of training, tracking, files of runs, or commands: imports go one way."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "attest"
CORE = ("attention", "networks", "measures", "experiments", "compute")
LIBRARIES = {"pytorch_lightning", "lightning_fabric", "lightning_utilities", "wandb", "datasets", "matplotlib"}
OUTSIDE = {"callbacks", "cli", "datamodules", "lightning_modules", "report", "runs", "tables", "tracking", "api"}


def imported(file: Path) -> set[str]:
    """Every module that a file imports, anywhere in it."""
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize("file", [file for room in CORE for file in sorted((PACKAGE / room).rglob("*.py"))], ids=str)
def test_the_core_imports_no_shell(file):
    parts = [module.split(".") for module in imported(file)]
    assert not LIBRARIES & {first for first, *_ in parts}
    assert not OUTSIDE & {rest[0] for first, *rest in parts if first == "attest" and rest}


@pytest.mark.parametrize("room", sorted(OUTSIDE - {"cli", "api"}))
def test_nothing_but_the_api_imports_a_command(room):
    commands = {
        module for file in (PACKAGE / room).rglob("*.py") for module in imported(file) if module.startswith("attest.cli")
    }
    assert not commands
