"""Every benchmark follows the names of what it measures."""

from importlib import import_module
from pathlib import Path

import pytest

import benchmarks

NAMES = sorted(file.stem for file in Path(benchmarks.__path__[0]).glob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_can_be_imported(name):
    if name == "architectures":
        pytest.importorskip("transformers", reason="needs the extra transformers")
    import_module(f"benchmarks.{name}")
