"""The admission of a model to a trial: which network is on trial, how it reads texts, and what it decides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import nn

from attest.app.api import foreign
from attest.app.api.asked import Options
from attest.app.api.batches import Batch, Encode, Words
from attest.app.api.cases import Case, case_of
from attest.app.api.given import Given
from attest.app.api.long_texts import about_windows, in_windows
from attest.app.api.pipelines import pipeline_in
from attest.core.errors import AttestError
from attest.core.labels import names_of, names_said_by
from attest.models.contract import STEPS, require_steps
from attest.models.traits import network_in, traits_of

if TYPE_CHECKING:
    from attest.models.pretrained.windows import WindowedNetwork


@dataclass(frozen=True)
class Defendant:
    """A model that was admitted to a trial."""

    network: nn.Module
    """The network whose attention is tested."""
    case: Case
    """The object that reads texts and labels and measures the decisions in the way that suits the network's task: classifying
    texts, tagging words, and so on."""
    names: tuple[str, ...]
    """The names of the network's classes or labels, in the order of their numbers; empty if only the numbers are known."""
    encode: Encode | None
    """The function that turns a text into token ids; None if the user gave batches of token ids instead of texts."""
    words: Words | None
    """The word of each token id, for display; None if words are not known."""
    tokenizer: Any
    adapted: bool
    """Whether the network wraps a model of another library, such as ``transformers``; its predictions are then checked against
    those of the wrapped model."""
    windowed: "WindowedNetwork | None"
    """The tested network itself, if it reads long texts in windows of tokens; None if it reads each text at once."""
    pipeline: Any
    """The ``transformers`` pipeline that the user gave instead of a model; None if the user gave a model."""

    @property
    def inside(self) -> bool:
        """Return whether the attention on trial lies inside the layers."""
        return not traits_of(self.network).pools_by_attention

    def remark(self, batches: Sequence[Batch]) -> str | None:
        """Return what the reader of the trial has to know of the attention or the decisions on trial."""
        if self.windowed is not None:
            return about_windows(self.windowed, batches)
        if self.case.remark is not None:
            return self.case.remark
        network: Any = self.network
        return str(network.about) if traits_of(network).crosses else None


def admitted(model: Any, tokenizer: Any, read: Given, options: Options) -> tuple[Defendant, Given]:
    """Return a model as the defendant of a trial, and the texts as it reads them.

    Args:
        model, tokenizer: taken out of a pipeline, and loaded if a folder or a Hub id was given.
        read: what was given as data.
    Raises:
        AttestError: the model has no attention that can be tested, or cannot read these texts.
    """
    encode, words, pipeline = options.encode, options.words, pipeline_in(options.model)
    if pipeline is not None and encode is not None:
        raise AttestError(
            "encode= was given beside a pipeline, which turns texts into tokens in its own way, so its answers could not be "
            "compared; expected one of the two. Leave encode= out, or give pipeline.model in place of the pipeline."
        )
    named: Sequence[str] = names_of(options.label_names)
    told = not read.batched or read.typed
    _require_asked(model, read, options)
    if adapted := foreign.is_of_transformers(model):
        from attest.models.pretrained.prompted import Prompt  # imports transformers

        unasked = options.prompt is None and options.answers is None
        answers = {} if options.answers is None else options.answers
        prompt = None if unasked else Prompt("" if options.prompt is None else options.prompt, answers)
        model, encode, words, named = foreign.read_by(model, tokenizer, encode, words, named, prompt, told)
    elif adapted := foreign.is_plain(model):
        model, encode, words = foreign.plain(model, tokenizer, encode, words, told)
    network, windowed = network_of(model), None
    if options.window is not None:
        encoder = encode if adapted else None
        windowed = in_windows(network, encoder, read.items, options.window, options.stride, options.pooled)
    network = windowed or network
    case = case_of(network)
    read = case.read(read, encode, options.batch_size)
    names = case.names(names_of(named or names_said_by(options.data)))
    return Defendant(network, case, names, encode, words, tokenizer, adapted, windowed, pipeline), read


def _require_asked(model: Any, read: Given, options: Options) -> None:
    """Refuse a prompt beside something that would leave it, or the names of its answers, out in silence."""
    if options.prompt is None and options.answers is None:
        return
    if not foreign.is_of_transformers(model):
        raise AttestError(
            f"prompt= was given with a {type(model).__name__}, which gets its texts as they are; expected a causal language "
            "model of transformers. Leave prompt= and answers= out."
        )
    if options.encode is not None or read.batched:
        beside = "encode=" if options.encode is not None else "token ids"
        raise AttestError(
            f"prompt= was given beside {beside}, so no text would be put into the prompt; expected texts and tokenizer=. Give "
            "attest.trial(model, texts, tokenizer=tokenizer, prompt=…, answers=…)"
        )
    names = names_of(options.label_names)
    if isinstance(options.answers, Mapping) and names and names != tuple(map(str, options.answers)):
        raise AttestError(
            f"label_names= names the classes {', '.join(names)}, and answers= {', '.join(map(str, options.answers))}; "
            "expected the names once, as the keys of answers=. Leave label_names= out."
        )


def network_of(model: Any) -> nn.Module:
    """Return the network whose attention is tested: the model itself, or the ``network`` inside a LightningModule."""
    inner = network_in(model)
    network = model if inner is None or all(hasattr(model, step) for step in STEPS) else inner
    if not traits_of(network).pools_by_attention and not traits_of(network).attends_within:
        raise AttestError(
            f"{type(network).__name__} pools its hidden states by their mean, so it has no attention over the tokens of a "
            "text; expected a network that pools by attention or has attention in its layers."
        )
    require_steps(network)
    return network
