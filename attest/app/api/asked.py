"""What was asked of ``attest.trial``, as it is written into ``config.yaml``, so that the same can be asked again."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch

from attest.app.api.batches import Encode, Indexed, Words
from attest.app.api.explanations import Explanations
from attest.app.api.grouping import Groups
from attest.app.api.rationales import Rationales
from attest.core.bounds import require_bounds, require_given
from attest.core.errors import AttestError
from attest.models.pretrained.told import config_of, told_by

Experiments = Iterable[str] | Mapping[str, Mapping[str, Any]]

NOT_KEPT = ("experiments", "seed", "progress", "processes", "device")
"""The arguments of ``attest.trial`` that are not written into the entry ``asked`` of ``config.yaml``: other entries of this
file hold them, or they change no result."""
NUMBERS = ("seed", "batch_size", "memory_gib", "max_tokens", "processes", "stride")
"""The arguments of ``attest.trial`` that are numbers and never None."""
OF_TEXTS = ("labels", "background", "explanations", "rationales", "groups")
"""The arguments of ``attest.trial`` that hold data about the texts, such as labels. ``config.yaml`` says which of them were
given, but does not contain the data."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Options:
    """What was asked of ``attest.trial``, which documents each of these arguments.

    Raises:
        AttestError: a number is out of its bounds, or an option lacks the one that it belongs to.
    """

    model: Any
    data: Iterable[Any]
    experiments: Experiments | None
    tokenizer: Any
    encode: Encode | None
    labels: Sequence[Any] | None
    words: Words | None
    label_names: Sequence[str] | None
    background: Sequence[str] | Sequence[Sequence[int]] | None
    seed: int
    batch_size: int
    memory_gib: float
    max_tokens: int
    progress: bool
    processes: int | Literal["ranks"]
    until: float | None
    prompt: str | None
    answers: Mapping[str, str] | None
    window: int | None
    stride: int
    pooled: str
    text_column: str | None
    second_column: str | None
    label_column: str | None
    device: str | torch.device | None
    explanations: Explanations | None
    reading: str | None
    readings: Sequence[str] | None
    rationales: Rationales | None
    groups: Groups | None
    name: str | None

    def __post_init__(self) -> None:
        numbers = {name: getattr(self, name) for name in NUMBERS}
        if self.processes == "ranks":
            del numbers["processes"]
        require_given(numbers)
        require_bounds(numbers | {"until": self.until, "window": self.window})
        if self.encode is not None and not callable(self.encode):
            raise AttestError(
                f"encode= is a {type(self.encode).__name__}; expected a function from a text to its token ids, such as "
                "encode=lambda text: [vocabulary[word] for word in text.split()]"
            )
        if self.words is not None and not isinstance(self.words, Indexed):
            raise AttestError(
                f"words= is a {type(self.words).__name__}; expected a list or a dictionary with the word of each token id."
            )
        if self.experiments is not None and not _name_experiments(self.experiments):
            raise AttestError(
                f"experiments= is {str(self.experiments)[:40]!r} ({type(self.experiments).__name__}); expected ids, or the "
                "settings of each. For example: experiments=['E1', 'E2'] or experiments={'E2': {'permutations': 20}}"
            )
        if self.window is None and (self.stride, self.pooled) != (0, "mean"):
            raise AttestError(
                "stride= and pooled= need window=, which was not given; expected window=, the number of tokens in a window."
            )

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Options":
        """Return the arguments of a call by name as options, with Python's numbers in place of those of numpy."""
        return cls(**{name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()})

    @property
    def columns(self) -> dict[str, str]:
        """Return the columns of a table that were named, by option."""
        named = {
            "text_column": self.text_column,
            "second_column": self.second_column,
            "label_column": self.label_column,
        }
        return {option: column for option, column in named.items() if column is not None}


def _name_experiments(given: Any) -> bool:
    """Return whether experiments were given as ids, or as a dictionary of settings by id."""
    if isinstance(given, Mapping):
        return all(isinstance(settings, Mapping) for settings in given.values())
    return isinstance(given, Iterable) and not isinstance(given, bytes | pd.Series | pd.DataFrame | np.ndarray)


def written(asked: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a call that are not its defaults, as YAML can hold them.

    Args:
        asked: the function that was called.
        options: the value of each of its arguments.
    Returns:
        ``asked``, options by name, if YAML can hold them; ``given``, the names of those that it cannot hold, such as labels
        and functions; ``model_from`` and ``tokenizer_from``, their folder or Hub id, where they tell it. What is empty is
        left out.
    """
    defaults = {name: option.default for name, option in inspect.signature(asked).parameters.items()}
    plain, given = {}, []
    for name, default in defaults.items():
        value = options[name]
        if default is inspect.Parameter.empty or name in NOT_KEPT or value is None:
            continue
        if name in OF_TEXTS or not _is_plain(value):
            given.append(name)
        elif value != default:
            plain[name] = [*value] if isinstance(value, tuple) else value
    addresses = {f"{name}_from": _address(options[name]) for name in ("model", "tokenizer")}
    found = {"asked": plain, "given": given} | addresses
    return {name: value for name, value in found.items() if value}


def _is_plain(value: Any) -> bool:
    if type(value) is dict:  # YAML takes no other mapping
        return all(isinstance(name, str) and _is_plain(each) for name, each in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, float, str)


def _address(given: Any) -> str | None:
    """Return where a model or a tokenizer of transformers comes from, or the folder or id itself."""
    if isinstance(given, str):
        return given
    address = told_by(config_of(given)).name_or_path or getattr(given, "name_or_path", None)
    return address if isinstance(address, str) and address else None
