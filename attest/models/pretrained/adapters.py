"""The adapters of the library peft, LoRA for example, as parts of the model that they adapt."""

import copy
import re
import warnings
from enum import Enum
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import nn
from transformers import PreTrainedModel

from attest.core.errors import AttestError, install_command, refusing, said_by
from attest.core.kinds import CHOICE, SPANS
from attest.core.memory import in_evaluation_mode
from attest.models.pretrained.heads import kind_of_class
from attest.models.pretrained.told import told_by

SETTINGS, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
IN_LAYERS = ("LORA", "ADALORA", "IA3", "LOHA", "LOKR", "OFT", "BOFT", "VERA", "HRA", "LN_TUNING")
"""The types of peft adapters that are supported, because they change only layers of a model."""
TASKS = {"SEQ_CLS": "texts", "TOKEN_CLS": "tokens", "CAUSAL_LM": "next"}
"""What a model with an adapter decides about, by the ``task_type`` in the adapter's settings: ``texts`` as a whole, single
``tokens``, or the ``next`` token of a text."""
PATTERNS = (
    "exclude_modules", "feedforward_modules", "layers_pattern", "modules_to_save", "rank_pattern", "alpha_pattern",
    "target_parameters",
)  # fmt: skip
"""The settings of an adapter whose values peft takes as regular expressions for the names of layers; only values that match
``NAME`` are accepted."""
NAME = re.compile(r"[\w.\\^$-]*")
"""Matches the name of a layer, or a regular expression without repetition, which is certain to be matched in a short time."""
ALL_LINEAR = "all-linear"
"""The value of ``target_modules`` in an adapter's settings that stands for all linear layers of the model."""
INSIDE = "base_model.model."
"""The prefix that peft gives to every parameter name in an adapter's file."""


def model_inside(adapted: Any) -> nn.Module:
    """Return the model inside a ``PeftModel``, with its adapters still applied."""
    from peft import PeftMixedModel

    named = adapted.active_adapters or list(adapted.peft_config)
    for name in named:
        _require_in_layers(type(adapted).__name__, adapted.peft_config[name])
    several = isinstance(adapted, PeftMixedModel)  # adapters of several kinds
    inside = adapted.base_model.model if several else adapted.get_base_model()
    fused = (layer for layer in inside.modules() if isinstance(layer, nn.TransformerEncoderLayer | nn.MultiheadAttention))
    adapted_parts = [part for layer in fused for part in layer.modules() if type(part).__module__.startswith("peft.")]
    if torch.backends.mha.get_fastpath_enabled() and adapted_parts:
        raise AttestError(
            "in evaluation mode, the fast path of torch computes nn.TransformerEncoderLayer without its adapter; expected the "
            "fast path to be off. Type torch.backends.mha.set_fastpath_enabled(False)"
        )
    if not isinstance(inside, PreTrainedModel):
        return inside
    tokens = torch.arange(1, 6, device=inside.device).unsqueeze(0)
    if kind_of_class(type(inside).__name__) == CHOICE:
        tokens = tokens.unsqueeze(1)
    with torch.no_grad(), in_evaluation_mode(adapted):
        logits = [_logits_of(model(input_ids=tokens, return_dict=True)) for model in (adapted, inside)]
    if not torch.equal(*logits):
        raise AttestError(
            f"the model inside the {type(adapted).__name__} decides differently from the whole, so the adapter changes more "
            f"than layers; expected an adapter of one of these kinds: {', '.join(IN_LAYERS)}. If the adapter can be merged, "
            "give model.merge_and_unload()."
        )
    _require_types_read(adapted, inside, tokens)
    return inside


def _require_types_read(adapted: Any, inside: PreTrainedModel, tokens: torch.Tensor) -> None:
    """Refuse peft's wrapper of models that answer questions, which does not hand the types of tokens on."""
    if kind_of_class(type(inside).__name__) != SPANS or (told_by(inside.config).type_vocab_size or 1) < 2:
        return
    with torch.no_grad(), in_evaluation_mode(adapted):
        types = torch.ones_like(tokens)
        logits = [_logits_of(model(input_ids=tokens, token_type_ids=types, return_dict=True)) for model in (adapted, inside)]
    if not torch.equal(*logits):
        raise AttestError(
            f"{type(adapted).__name__} leaves out the types of tokens (token_type_ids), which the {type(inside).__name__} "
            "inside it reads, so that the two answer differently; expected one of the two. If yours reads types, give "
            "model.get_base_model(), which keeps the adapter."
        )


def _logits_of(output: Any) -> torch.Tensor:
    names = ("logits", "start_logits", "end_logits")
    return torch.cat([output[name].flatten() for name in names if output.get(name) is not None])


def _kind(settings: Any) -> str:
    """Return the kind of an adapter, such as ``LORA``; peft keeps it as a member of its enumeration or as text."""
    kind = settings.peft_type
    return str(kind.value if isinstance(kind, Enum) else kind)


def _require_in_layers(name: str, settings: Any) -> None:
    from peft import LoraConfig

    if settings.is_prompt_learning:
        raise AttestError(
            f"{name} is a {_kind(settings)} adapter, which adds virtual tokens that belong to no word of the text; expected "
            "an adapter that changes the layers, such as LoRA."
        )
    if isinstance(settings, LoraConfig) and settings.alora_invocation_tokens:
        raise AttestError(
            f"{name} is an activated LoRA (alora_invocation_tokens), which acts only on some tokens of a text; expected an "
            "adapter that acts on all tokens."
        )


class Adapter:
    """An adapter in a folder or in the cache of the Hub, as ``PeftModel.save_pretrained`` writes it.

    Args:
        name: the folder or Hub id that the user gave.
        settings: the path of its ``adapter_config.json``.
    Raises:
        AttestError: peft is missing, the settings are unreadable or name no base model, or the kind is not supported.
    """

    def __init__(self, name: str, settings: Path) -> None:
        self.name, self.folder = name, settings.parent
        try:
            from peft import LoraConfig, PeftConfig

            self.settings = PeftConfig.from_pretrained(str(self.folder))
        except ImportError as error:
            raise AttestError(
                f"{name} is an adapter, and the library peft that applies it is missing ({error}). Type: "
                f"{install_command('transformers')}"
            ) from error
        except Exception as error:  # peft raises anything on a damaged file
            raise AttestError(
                f"the {SETTINGS} of {name} cannot be read ({said_by(error)}); expected a file that peft wrote."
            ) from error
        self.base = str(self.settings.base_model_name_or_path or "")
        """The folder or Hub id of the base model, to which the adapter is applied."""
        self.decides = TASKS.get(str(self.settings.task_type or ""))
        """What the adapted model decides about: ``texts``, ``tokens`` or ``next``, as in ``TASKS``; None if the adapter's
        settings do not say it."""
        _require_in_layers(name, self.settings)
        kind = _kind(self.settings)
        if kind not in IN_LAYERS:
            raise AttestError(f"{name} is a {kind} adapter; expected one of {', '.join(IN_LAYERS)}.")
        if isinstance(self.settings, LoraConfig) and self.settings.megatron_config:  # peft would import the module it names
            raise AttestError(f"{name} asks for Megatron (megatron_config); expected an adapter of transformers.")
        revision = self.settings.revision
        if revision not in (None, "main") and not Path(self.base).expanduser().exists():
            raise AttestError(
                f"{name} adapts the revision {revision} of {self.base}; expected no revision. Download this one, and "
                f"write its folder as base_model_name_or_path into {SETTINGS}."
            )
        self._require_no_patterns()
        if not self.base:
            raise AttestError(f"{name} does not name its base model; expected base_model_name_or_path in {SETTINGS}.")

    def configured(self, config: Any, kind: Any) -> Any:
        """Return a copy of a model configuration with the architecture of ``kind`` and the adapter's number of classes."""
        config = copy.deepcopy(config)
        config.architectures = [kind._model_mapping[type(config)].__name__]
        shapes = []
        for classes in (2, 3):
            other = copy.deepcopy(config)
            other.num_labels = classes
            with torch.device("meta"):
                shapes.append({name: each.shape for name, each in kind.from_config(other).named_parameters()})
        own = self._shapes()
        heads = [own[INSIDE + name] for name, shape in shapes[0].items() if shapes[1][name] != shape and INSIDE + name in own]
        if heads and heads[0][0] != config.num_labels:
            config.num_labels = heads[0][0]
        return config

    def _require_no_patterns(self) -> None:
        """Refuse regular expressions in the settings, except in ``target_modules``: one can compute for years."""
        given = {name: getattr(self.settings, name, None) or () for name in PATTERNS}
        for name, patterns in given.items():
            for pattern in [patterns] if isinstance(patterns, str) else patterns:
                if not isinstance(pattern, str) or not NAME.fullmatch(pattern):
                    raise AttestError(
                        f"the {SETTINGS} of {self.name} has the pattern {str(pattern)[:40]!r} in {name}; expected names of "
                        "layers there, because the pattern of a stranger can compute without end. Write the names themselves."
                    )

    def _by_name(self, model: PreTrainedModel) -> None:
        """Put the names of the layers that the adapter has weights for in the place of a pattern in ``target_modules``."""
        settings: Any = self.settings
        pattern = settings.target_modules
        if not isinstance(pattern, str) or pattern == ALL_LINEAR:
            return
        layers, whole = {name for name, _ in model.named_modules()}, model.state_dict().keys()
        adapted = {name.removeprefix(INSIDE) for name in self._shapes()} - whole
        prefixes = ({name.rsplit(".", cut)[0] for cut in range(1, name.count(".") + 1)} & layers for name in adapted)
        settings.target_modules = {max(each, key=len) for each in prefixes if each}

    def _shapes(self) -> dict[str, list[int]]:
        expected = f"expected {WEIGHTS}. model.save_pretrained(folder) writes it."
        refuse = refusing(lambda said: f"the weights of {self.name} cannot be read ({said}); {expected}")
        with refuse, safe_open(self.folder / WEIGHTS, "pt") as file:
            return {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118 - no mapping

    def applied_to(self, model: PreTrainedModel, missing: list[str]) -> tuple[PreTrainedModel, list[str]]:
        """Apply the adapter to its base model; return the model, and the names of weights that neither of them has."""
        from peft import PeftModel, get_peft_model_state_dict

        self._by_name(model)
        own = self._shapes().keys()
        unfit, expected = (
            f"the adapter {self.name} does not fit its base {self.base}",
            "expected the base model that the adapter was trained on.",
        )
        with refusing(lambda said: f"{unfit} ({said}); {expected}"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of weights that are missing, which are refused below
            adapted: Any = PeftModel.from_pretrained(
                model, str(self.folder), config=self.settings, torch_device=str(model.device)
            )
            wanted = get_peft_model_state_dict(adapted, save_embedding_layers=False).keys()
        if apart := sorted((wanted - own) | (own - wanted - adapted.state_dict().keys())):
            raise AttestError(f"{unfit}: {apart[0]} exists in only one of the two; {expected}")
        return adapted.get_base_model(), [name for name in missing if INSIDE + name not in own]
