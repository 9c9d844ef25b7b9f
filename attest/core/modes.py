"""What surrounds the call of a user: modes of torch, and a ``forward`` that a library has put in place of the model's own."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import nn

from attest.core.errors import AttestError

ORIGINAL = "_original_forward"
"""The name of the attribute in which the library accelerate keeps a model's own ``forward`` after it has put a ``forward`` in
half precision in its place."""

EXACT = "highest"
"""The argument of ``torch.set_float32_matmul_precision`` with which matrix products are computed in full float32, and not
rounded to bfloat16 or TF32."""
_TURN = threading.RLock()


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Let the threads of this process take turns: a trial changes its model, and the memory budget of all, for a while."""
    with _TURN:
        yield


@contextmanager
def _exact_products() -> Iterator[None]:
    try:
        before = torch.get_float32_matmul_precision()
    except RuntimeError:  # each backend has a precision of its own, by torch.backends.…fp32_precision
        yield
        return
    torch.set_float32_matmul_precision(EXACT)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


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
        modes.enter_context(_exact_products())
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                modes.enter_context(torch.autocast(device, enabled=False))
        cast = own.pop("forward", None) if ORIGINAL in own else None
        try:
            yield
        finally:
            if cast is not None:
                own["forward"] = cast
