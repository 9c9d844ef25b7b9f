"""A batch that does not fit into memory is halved and tried again, and the numbers are those of one that fitted."""

import json
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import pandas as pd
import pytest
import torch

import attest
from attest.app.api.outcome import Outcome
from attest.evidence import Engine
from attest.runs.folder import RunFolder
from tests.app.api.short_of_memory import LONG, QUICK
from tests.conftest import fresh_shell
from tests.models.pretrained.tiny import TEXTS, WORDS, tiny

pytestmark = pytest.mark.whole("many models, each tried as a whole")

MANY = [*TEXTS, "very very dull film", "not a dull film", "a film ."]
CLOSE = {"check_exact": False, "rtol": 4 * torch.finfo(torch.float32).eps, "atol": 4 * torch.finfo(torch.float32).eps}
"""The rounding of what is kept in single precision: shares, which are means over at most four heads.

Models here compute in double precision. Half a batch is summed in another order, and measures such as
``soft_even_sufficiency`` and the entropy of leave-one-out divide by differences of predictions. Predictions of a tiny model
differ by 1e-3 where tokens are left out. So an error of 1e-7 of a prediction, in single precision, would become an error of
1e-4 of the measure, and how large it is depends on the processor. In double precision it stays below 1e-12.
"""
SEVERAL = {"E1": {}, "E2": {"permutations": 2}, "E3": {"texts": 3, "steps": 2}, "E8": {}, "E10": {}, "E14": {"texts": 4}}


def tables_equal(found, plain):
    assert found.experiments == plain.experiments
    for experiment in plain.experiments:
        pd.testing.assert_frame_equal(found.table(experiment), plain.table(experiment), **CLOSE)


@pytest.fixture(scope="module")
def precise(model):
    """A copy of the model that computes in double precision."""
    return deepcopy(model).double()


@pytest.fixture(scope="module")
def plain(precise, tokenizer):
    return attest.trial(precise, MANY, SEVERAL, tokenizer=tokenizer, progress=False)


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory"), MemoryError(), RuntimeError("can't allocate memory")]
)
def test_numbers_do_not_hang_on_what_fits(error, plain, precise, tokenizer, capsys, monkeypatch):
    """Memory runs out in E10, when the rows of other experiments are there already."""
    keep = Engine.keep

    def two_at_most(self, table, columns, mask, **others):
        if len(mask) > 2 and table == "E10":
            raise error
        keep(self, table, columns, mask, **others)

    monkeypatch.setattr(Engine, "keep", two_at_most)
    found = attest.trial(precise, MANY, SEVERAL, tokenizer=tokenizer, progress=False)
    tables_equal(found, plain)
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(" (")[0] for line in said] == [
        "8 texts of 8 tokens at once are too many",
        "4 texts of 6 tokens at once are too many",
    ], "once each, and no more in later batches"
    assert json.loads(found.folder.timing.read_text())["did_not_fit"] == {"texts": 4, "tokens": 6}
    assert "did_not_fit" not in json.loads(plain.folder.timing.read_text())


def test_what_one_text_raises_is_raised(model, tokenizer, monkeypatch):
    def never(*_, **__):
        raise RuntimeError("a mistake in an experiment")

    monkeypatch.setattr(Engine, "keep", never)
    with pytest.raises(RuntimeError, match="a mistake in an experiment"):
        attest.trial(model, MANY, {"E2": {"permutations": 1}}, tokenizer=tokenizer, progress=False)


def test_an_error_that_is_not_of_memory_is_raised_at_once(model, tokenizer):
    calls = []

    def broken(*_):
        calls.append(1)
        if len(calls) > 1:  # the first pass of all looks for layers
            raise NotImplementedError("a mistake in the model")

    handle = model.bert.encoder.layer[1].register_forward_hook(broken)
    try:
        with pytest.raises(NotImplementedError):
            attest.trial(model, MANY, {"E2": {"permutations": 1}}, tokenizer=tokenizer, progress=False)
    finally:
        handle.remove()
    assert len(calls) == 2


@pytest.mark.skipif(not Path("/proc/self/statm").is_file(), reason="reads how much memory a process has from /proc")
def test_a_real_lack_of_memory(tokenizer, tmp_path):
    """Thirty-two texts of up to 256 tokens take 500 MB, 16 MB each, and 200 MB more may be had.

    What one attempt took must be free for the next. So glibc gives every tensor above 128 KiB a mapping of its own; by itself
    it keeps freed memory in pieces, more or fewer on different processors.
    """
    reads = deepcopy(tokenizer)
    reads.model_max_length = 256
    options = {"tokenizer": reads, "progress": False, "memory_gib": 64}
    reads.save_pretrained(tmp_path / "reads")
    command = [sys.executable, "-m", "tests.app.api.short_of_memory", str(tmp_path / "reads"), str(tmp_path / "short")]
    subprocess.run(command, check=True, timeout=300, env=fresh_shell() | {"MALLOC_MMAP_THRESHOLD_": str(128 * 2**10)})
    torch.manual_seed(0)
    model = tiny("bert", vocab_size=len(WORDS), max_position_embeddings=256).double()
    short = Outcome(RunFolder(tmp_path / "short"))
    tables_equal(short, attest.trial(model, LONG, QUICK, **options))
    assert json.loads(short.folder.timing.read_text())["did_not_fit"]["texts"] > 1
