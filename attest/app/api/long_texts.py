"""Read texts that are longer than the model allows in windows, or refuse them."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from attest.app.api.batches import Batch
from attest.core.errors import AttestError
from attest.experiments.registry import INSIDE, suited
from attest.models.traits import traits_of

if TYPE_CHECKING:
    from attest.models.pretrained.windows import WindowedNetwork


def in_windows(network: Any, encode: Any, texts: Sequence[Any], window: int, stride: int, pooled: str) -> "WindowedNetwork":
    """Return a network that reads each text in windows, and make the encoder keep long texts whole."""
    from attest.models.pretrained.prompted import PromptEncoder
    from attest.models.pretrained.texts import WHOLE, Encoder
    from attest.models.pretrained.windows import windowed

    if traits_of(network).crosses:
        raise AttestError("window= works only for a model with one stack of layers; expected an encoder. Leave window= out.")
    if isinstance(encode, PromptEncoder):
        raise AttestError(
            "a prompt ends with its question, and windows would cut this end off; expected a classifier. Leave window= out."
        )
    if not isinstance(encode, Encoder) or not all(isinstance(text, str) for text in texts):
        raise AttestError(
            "window= works only for texts that are single strings, and with a tokenizer of transformers; expected a list of "
            "strings and tokenizer=tokenizer. For pairs of texts, for batches and with encode=, leave window= out."
        )
    found = windowed(network, encode.tokenizer, encode.longest, window, stride, pooled)
    encode.longest = WHOLE
    return found


def require_suited(names: Iterable[str], network: Any) -> None:
    """Refuse experiments that cannot be computed if texts are read in windows."""
    for name in names:
        if name in INSIDE and not INSIDE[name].suits(network):
            raise AttestError(
                f"{name} asks about keys, values, heads or the last token of a text, and a text in several windows has "
                f"several of each; expected one or more of: {', '.join(suited(network))}."
            )


def about_windows(network: "WindowedNetwork", batches: Iterable[Batch]) -> str:
    """Return a sentence that says how many texts are read in several windows."""
    windows, lengths = network.windows, [length for batch in batches for length in batch["mask"].sum(dim=-1).tolist()]
    numbers = [windows.of(length) for length in lengths]
    several = sum(number > 1 for number in numbers)
    return (
        f"{several} of {len(numbers)} texts are longer than a window of {windows.window} tokens and are read in up to "
        f"{max(numbers)} windows, which share {windows.stride} tokens with the next; {network.decides}."
    )


def require_readable(network: Any, tokenizer: Any, batches: Iterable[Batch]) -> None:
    """Refuse batches of token ids with texts that are longer than a model of transformers can read."""
    from attest.models.pretrained.texts import longest_read

    longest = longest_read(network.model, tokenizer)
    most = max(int(torch.as_tensor(batch["mask"]).sum(dim=-1).max()) for batch in batches)
    if most > longest:
        raise AttestError(
            f"the longest text has {most} tokens, and {type(network.model).__name__} reads at most {longest}; expected "
            "shorter texts. Give texts, tokenizer= and window= to read longer texts in windows."
        )
