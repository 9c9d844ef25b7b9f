"""What surrounds the call of a user: modes of torch, and a ``forward`` that a library has put in place of the model's own."""

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import torch
from torch import nn

from attest.core.errors import AttestError

ORIGINAL = "_original_forward"
"""The name of the attribute in which the library accelerate keeps a model's own ``forward`` after it has put a ``forward`` in
half precision in its place."""

EXACT = "highest"
"""The argument of ``torch.set_float32_matmul_precision`` with which matrix products are computed in full float32, and not
rounded to bfloat16 or TF32."""
UNROUNDED = "ieee"
"""The same for one kind of computation of one backend, as its attribute ``fp32_precision``, which torch has since 2.9."""
ONEDNN = ("ONEDNN_DEFAULT_FPMATH_MODE", "DNNL_DEFAULT_FPMATH_MODE")
"""Environment variables that let oneDNN round float32, whatever torch is told; some images for cloud machines set them."""
_TURN = threading.RLock()


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Let the threads of this process take turns: a trial changes its model, and the memory budget of all, for a while."""
    with _TURN:
        yield


@contextmanager
def full_float32() -> Iterator[None]:
    """Compute float32 products, convolutions and recurrent layers without rounding to less inside the ``with`` block.

    Evidence compares outputs that differ by less than bfloat16 or TF32 resolve. Users allow these for their training: by
    ``torch.set_float32_matmul_precision``, or for each backend; and cuDNN computes in TF32 unless it is told not to. Where an
    environment variable of ``ONEDNN`` allows it, no setting of torch forbids it, so the block does without oneDNN.

    Examples:
        >>> import torch
        >>> torch.set_float32_matmul_precision("medium")
        >>> with full_float32():
        ...     torch.get_float32_matmul_precision()
        'highest'
        >>> torch.get_float32_matmul_precision()
        'medium'
        >>> torch.set_float32_matmul_precision("highest")
    """
    with ExitStack() as kept:
        if any(os.environ.get(name, "strict").lower() != "strict" for name in ONEDNN):
            kept.enter_context(torch.backends.mkldnn.flags(enabled=False, allow_tf32=False))
        parts = _parts_of_backends()
        for part in parts:
            kept.callback(setattr, part, "fp32_precision", part.fp32_precision)
        with suppress(RuntimeError):  # torch cannot say it in one word where each backend has a precision of its own
            kept.callback(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision())
        with suppress(RuntimeError):
            kept.callback(setattr, torch.backends.cudnn, "allow_tf32", torch.backends.cudnn.allow_tf32)
        torch.set_float32_matmul_precision(EXACT)
        torch.backends.cudnn.allow_tf32 = False
        for part in parts:
            part.fp32_precision = UNROUNDED
        yield


def _parts_of_backends() -> list[Any]:
    """Return what has a precision of its own; nothing before torch 2.9."""
    of: Any = torch.backends
    if not hasattr(of, "fp32_precision"):
        return []
    return [of.cuda.matmul, of.cudnn.conv, of.cudnn.rnn, of.mkldnn.matmul, of.mkldnn.conv, of.mkldnn.rnn]


@contextmanager
def without_cudnn() -> Iterator[None]:
    """Leave cuDNN out inside the ``with`` block, and compute in full float32.

    cuDNN refuses the backward pass of a recurrent network in evaluation mode; the kernels of torch do not.
    """
    with full_float32(), ExitStack() as kept:
        kept.callback(setattr, torch.backends.cudnn, "enabled", torch.backends.cudnn.enabled)
        torch.backends.cudnn.enabled = False
        yield


@contextmanager
def as_it_is(model: nn.Module) -> Iterator[None]:
    """Compute inside the ``with`` block by the weights of a model alone, and leave the model afterwards as it was before.

    Inference mode and autocast are off, gradients are on, products of matrices are exact, and the class's own ``forward`` is
    called where accelerate has put another in its place. Otherwise half of the evidence would be about a computation in half
    precision.

    Raises:
        AttestError: the parameters were made in inference mode, so that no gradient can ever pass them.
    """
    if isinstance(model, nn.Module) and any(parameter.is_inference() for parameter in model.parameters()):
        raise AttestError(
            "the parameters of the model were made in torch.inference_mode(), so that no gradient passes them; expected a "
            "model that was made outside of it. Load the model again outside of torch.inference_mode()."
        )
    own = vars(model)
    with ExitStack() as modes:
        modes.enter_context(torch.inference_mode(False))
        modes.enter_context(torch.enable_grad())
        modes.enter_context(full_float32())
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                modes.enter_context(torch.autocast(device, enabled=False))
        cast = own.pop("forward", None) if ORIGINAL in own else None
        try:
            yield
        finally:
            if cast is not None:
                own["forward"] = cast
