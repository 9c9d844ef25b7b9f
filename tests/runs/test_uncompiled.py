"""A plan imports Lightning without PyTorch's compiler; both know one another when the compiler comes later."""

import subprocess
import sys

import pytest

from tests.conftest import fresh_shell

IMPORTED = """
import sys
from attest.runs.uncompiled import import_uncompiled
import_uncompiled(sys.argv[1:])
print(*(name for name in ("pytorch_lightning", "torch._dynamo", "sympy") if name in sys.modules))
"""
COMPILED = """
import torch
from pytorch_lightning.utilities.compile import OptimizedModule
plain = torch.nn.Linear(1, 1)
assert not isinstance(plain, OptimizedModule)
assert isinstance(torch.compile(plain, backend="eager"), OptimizedModule)
assert not isinstance(plain, OptimizedModule)
"""
CHANGED = """
import sys
from attest.runs import uncompiled
delattr(uncompiled._StandIn, sys.argv[1])
uncompiled.import_uncompiled(["DATA=sst"])
print("pytorch_lightning" in sys.modules)
import torch
from pytorch_lightning.utilities.compile import OptimizedModule
assert isinstance(torch.compile(torch.nn.Linear(1, 1), backend="eager"), OptimizedModule)
from attest.runs.configured import resolve
from attest.runs.choices import expand
print(resolve(expand(["DATA=sst", "LOGGER=csv"]))["run"]["data"])
"""


def after(program, *arguments) -> str:
    """What a fresh process says."""
    words = [sys.executable, "-c", program, *arguments]
    return subprocess.run(words, env=fresh_shell(), capture_output=True, text=True, check=True, timeout=120).stdout.strip()


@pytest.mark.slow
def test_lightning_comes_without_the_compiler():
    assert after(IMPORTED + COMPILED, "DATA=sst") == "pytorch_lightning"


@pytest.mark.slow
def test_nothing_is_left_out_where_code_from_elsewhere_may_run():
    assert after(IMPORTED, "DATA=sst", "--model=mine.Network") == ""


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["disable", "OptimizedModule"])
def test_a_lightning_that_asks_more_of_the_compiler_is_imported_with_it(missing):
    assert after(CHANGED, missing).split() == ["False", "sst"]
