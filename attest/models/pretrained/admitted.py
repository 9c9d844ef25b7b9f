"""The checks of other people's models: a known output head, and no path between tokens except attention."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from attest.core.attention.interventions import Intervention, intervene, to_itself
from attest.core.errors import AttestError
from attest.core.kinds import CHOICE, SPANS, TAGS
from attest.core.memory import in_evaluation_mode
from attest.models.contract import require_itself, require_no_chance
from attest.models.inputs import Inputs
from attest.models.pretrained.crossing import CrossingNetwork
from attest.models.pretrained.heads import MULTI_LABEL, REGRESSION, has_head, kind_of_model
from attest.models.pretrained.network import PretrainedNetwork
from attest.models.pretrained.plain import PlainNetwork
from attest.models.pretrained.told import told_by

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MASKED = 1
"""The id of the mask token in Attest's own vocabularies; it replaces a token if the model has no mask token of its own."""


def require_head(model: "PreTrainedModel") -> None:
    """Refuse a model that neither classifies texts or tokens nor predicts one number for a text."""
    name, config = type(model).__name__, model.config
    kind = kind_of_model(name, config)
    if kind == CHOICE:
        return
    if kind == SPANS:
        require_one_stack(model)
        return
    if not has_head(name):
        raise AttestError(
            f"{name} classifies neither texts nor tokens; expected a model such as BertForSequenceClassification. Load the "
            "model with AutoModelForSequenceClassification.from_pretrained; for a language model, give prompt= and answers=."
        )
    if config.problem_type == MULTI_LABEL and kind == TAGS:
        raise AttestError(
            f'{name} gives a token several labels at once (its config.json has problem_type "{MULTI_LABEL}"); expected a '
            "model that chooses one class for each token, or that decides labels of whole texts."
        )
    no_classes = config.problem_type == REGRESSION or len(config.id2label or ()) < kind.names
    if no_classes and kind.names > 1:
        raise AttestError(
            f"the config.json of {name} has num_labels {config.num_labels} and problem_type {config.problem_type or 'null'}; "
            "expected a model that chooses one of several classes, returns one number for a text (num_labels 1), or decides "
            "several labels."
        )


def is_squashed(config: Any) -> bool:
    """Return whether a model's configuration says that its predicted number is the sigmoid of its logit.

    Cross-encoders of sentence-transformers name their activation function there; without one, the number is the logit.
    """
    told = told_by(config)
    kept = told.sentence_transformers or {}
    said = kept.get("activation_fn") or told.sbert_ce_default_activation_function or "Identity"
    function = str(said).rpartition(".")[2]
    if function not in ("Identity", "Sigmoid"):
        raise AttestError(
            f"config.json says that {said} is applied to the output of the model; expected Identity or Sigmoid. Put the "
            "function into the model, and write Identity or Sigmoid into config.json."
        )
    return function == "Sigmoid"


def require_one_stack(model: "PreTrainedModel") -> None:
    """Refuse a model with an encoder and a decoder."""
    if model.config.is_encoder_decoder:
        raise AttestError(
            f"{type(model).__name__} has an encoder and a decoder; expected a model with only an encoder or only a decoder."
        )


def require_as_it_is(network: PretrainedNetwork) -> None:
    """Refuse a model if hook points change its predictions, or if it mixes tokens outside of attention.

    With cross-attention, tokens exchange information in the encoder, so only the hook points are checked.
    """
    name, calls, crosses = type(network.model).__name__, len(network.calls), isinstance(network, CrossingNetwork)
    told = told_by(None if isinstance(network, PlainNetwork) else network.model.config.get_text_config())
    layers = calls if told.num_hidden_layers is None else told.num_hidden_layers
    if calls != layers and not crosses:
        kinds = ", ".join(dict.fromkeys(map(str, told.layer_types or ())))
        raise AttestError(
            f"{name} has {layers} layers{f' ({kinds})' if kinds else ''} and computes attention {calls} times in a forward "
            "pass; expected one computation of attention in each layer."
        )
    tokens = network.some_tokens().repeat(2, 1)  # the second is shorter, with one token masked
    tokens[1, 1] = MASKED if network.masked is None else network.masked
    mask, last = torch.ones_like(tokens, dtype=torch.bool), tokens.shape[-1] // 2
    mask[1, last + 1 :], tokens[1, last] = False, tokens[0, -1]
    with in_evaluation_mode(network):
        with torch.no_grad():
            require_no_chance(name, lambda: network(tokens, mask))
        if not crosses and _meet_elsewhere(network, tokens[:1]):
            raise AttestError(
                f"{name} mixes tokens outside its attention, in convolutions, recurrent or linear layers; expected a model "
                "that mixes tokens only by attention."
            )
        require_itself(network, torch.arange(2), Inputs(tokens, mask))


def _meet_elsewhere(network: PretrainedNetwork, tokens: torch.Tensor) -> bool:
    """Return whether a token's last hidden state depends on other tokens when each token attends only to itself."""
    mask, middle = torch.ones_like(tokens, dtype=torch.bool), tokens.shape[-1] // 2
    states: list[torch.Tensor] = []
    look: Any = _States(tokens.shape[-1], states)
    if not isinstance(network, PlainNetwork):
        look = network.model.base_model.register_forward_hook(lambda _base, _inputs, output: states.append(output[0][0]))
    with torch.enable_grad(), intervene(network, Intervention("weights", to_itself)), look:
        embedded = network.encode(tokens, mask).detach().requires_grad_()
        network.decode(embedded, mask.to(embedded))
        hidden = states[-1][middle]
        (gradient,) = torch.autograd.grad(hidden @ torch.linspace(0, 1, len(hidden)).to(hidden), embedded)
    gradient[:, middle] = 0
    return bool(gradient.any())


class _States(TorchFunctionMode):
    """A ``TorchFunctionMode`` that records each tensor that has the shape of the hidden states of one text."""

    def __init__(self, tokens: int, found: list[torch.Tensor]) -> None:
        super().__init__()
        self._shapes, self._found = ((1, tokens), (tokens, 1)), found

    def __torch_function__(
        self, function: Callable[..., Any], _types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.ndim == 3 and result.shape[:2] in self._shapes:
            self._found.append(result.reshape(self._shapes[0][1], -1))
        return result
