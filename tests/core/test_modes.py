"""Whatever precision a user allows for training, evidence is in full float32, and the user's choice stays as it was."""

import subprocess
import sys
from contextlib import contextmanager
from operator import attrgetter

import pytest
import torch

from attest.core.modes import ONEDNN, full_float32, without_cudnn
from tests.conftest import fresh_shell

KINDS = ("cuda.matmul", "cudnn.conv", "cudnn.rnn", "mkldnn.matmul", "mkldnn.conv", "mkldnn.rnn")
CONVOLVED = """
import torch
from attest.core.modes import full_float32
torch.manual_seed(0)
convolution, texts = torch.nn.Conv1d(256, 256, 3), torch.randn(4, 256, 30)
with torch.no_grad(), full_float32():
"""
newer = pytest.mark.skipif(not hasattr(torch.backends, "fp32_precision"), reason="no precision by backend before torch 2.9")


def precisions():
    return {kind: attrgetter(kind)(torch.backends).fp32_precision for kind in KINDS}


@contextmanager
def allowed(backend, precision):
    """A backend computes float32 in this precision, as a user of the newer functions asks for it."""
    part = attrgetter(backend)(torch) if backend == "backends" else attrgetter(backend)(torch.backends)
    before, kinds = part.fp32_precision, precisions()
    part.fp32_precision = precision
    try:
        yield
    finally:
        part.fp32_precision = before
        for kind, each in kinds.items():
            attrgetter(kind)(torch.backends).fp32_precision = each


def test_products_that_were_allowed_to_be_rounded_are_exact_inside_alone():
    try:
        torch.set_float32_matmul_precision("medium")
        with full_float32():
            assert torch.get_float32_matmul_precision() == "highest"
            assert not torch.backends.cudnn.allow_tf32
        assert torch.get_float32_matmul_precision() == "medium"
        assert torch.backends.cudnn.allow_tf32
    finally:
        torch.set_float32_matmul_precision("highest")


@newer
@pytest.mark.parametrize("precision", ["tf32", "bf16"])
@pytest.mark.parametrize("backend", ["backends", "mkldnn", "mkldnn.matmul", "mkldnn.conv", "cudnn.conv", "cudnn"])
def test_a_precision_of_one_backend_holds_outside_alone(backend, precision):
    if backend.startswith("cudnn") and precision == "bf16":
        precision = "ieee"  # cuDNN knows no bfloat16 here
    with allowed(backend, precision):
        outside = precisions()
        with without_cudnn():
            assert set(precisions().values()) == {"ieee"}
        assert precisions() == outside


def test_an_error_inside_restores_the_precision():
    try:
        torch.set_float32_matmul_precision("high")
        with pytest.raises(KeyError), full_float32():
            raise KeyError
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision("highest")


@pytest.mark.whole("another interpreter, since oneDNN reads the variable once")
@pytest.mark.parametrize("name", ONEDNN)
def test_what_the_environment_allows_onednn_is_not_allowed_to_evidence(name, tmp_path):
    """A processor without bfloat16 rounds nothing in any case."""
    found = []
    for value in ("STRICT", "BF16"):
        out = tmp_path / f"{value}.pt"
        code = f"{CONVOLVED}    torch.save(convolution(texts), {str(out)!r})"
        subprocess.run([sys.executable, "-c", code], check=True, env=fresh_shell() | {name: value}, timeout=120)
        found.append(torch.load(out))
    torch.testing.assert_close(found[1], found[0], rtol=0, atol=1e-5)
