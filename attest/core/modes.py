"""What surrounds the call of a user: modes of torch, and a ``forward`` that a library has put in place of the model's own."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import nn

from attest.core.errors import AttestError

ORIGINAL = "_original_forward"
"""Where accelerate keeps the ``forward`` of a model whose calls it casts to half precision."""


@contextmanager
def as_it_is(model: nn.Module) -> Iterator[None]:
    """Compute inside the ``with`` block by the weights of a model alone, and leave the model afterwards as it was before.

    Inference mode and autocast are off, gradients are on, and the class's own ``forward`` is called where accelerate has put
    another in its place. Otherwise half of the evidence would be about a computation in half precision.

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
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                modes.enter_context(torch.autocast(device, enabled=False))
        cast = own.pop("forward", None) if ORIGINAL in own else None
        try:
            yield
        finally:
            if cast is not None:
                own["forward"] = cast
