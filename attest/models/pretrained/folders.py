"""What the files of a model say, read before transformers builds anything from them: settings, names and shapes of weights.

In: a folder or Hub id of somebody. Out: nothing, or one sentence with the cause for which the model cannot be loaded.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from transformers import PreTrainedModel
from transformers.utils import SAFE_WEIGHTS_INDEX_NAME, SAFE_WEIGHTS_NAME

from attest.core.errors import AttestError

POINTER = b"version https://git-lfs.github.com/spec/"
"""The first bytes of a pointer file: Git LFS leaves this small text file where a large file was not downloaded."""
POINTED = ("*.json", "*.txt", "*.model", "*.safetensors")
"""Patterns for the files in a model's folder that are checked: each must be the file itself, and not a pointer that Git LFS
left in its place."""
MOST_LABELS, MOST_LAYERS = 1 << 20, 1 << 12
"""The largest numbers of classes and of layers that a ``config.json`` may state if the shapes of the model's weights are not
known."""
SAVE = "model.save_pretrained(folder)"


def require_no_pointer(name: str) -> None:
    """Refuse a folder in which a file is only a pointer of Git LFS."""
    folder = Path(name).expanduser()
    if not folder.is_dir():
        return
    for path in sorted(path for pattern in POINTED for path in folder.glob(pattern) if path.is_file()):
        with path.open("rb") as file:
            if file.read(len(POINTER)) == POINTER:
                raise AttestError(
                    f"{path} is a pointer of Git LFS and not the file itself; expected the file. Type in the folder: git lfs "
                    "pull"
                )


def require_buildable(path: Path) -> None:
    """Refuse settings of a model that are no settings, or that ask for more classes or layers than its weights can have.

    Args:
        path: a ``config.json``, with the weights beside it or without them.
    """
    settings = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(settings, Mapping):
        raise AttestError(
            f"{path} holds {json.dumps(settings)[:40]}; expected the settings of a model by name, which {SAVE} writes."
        )
    architectures = settings.get("architectures")
    if not isinstance(architectures, list | None) or not all(isinstance(each, str) for each in architectures or ()):
        raise AttestError(f"{path} has the architectures {architectures!r}; expected a list with the name of a class.")
    shapes = shapes_beside(path)
    rows = max((size for shape in shapes.values() for size in shape), default=MOST_LABELS)
    for part in (settings, *(each for each in settings.values() if isinstance(each, Mapping))):
        for key, value in part.items():
            most = rows if "labels" in key or "experts" in key else len(shapes) or MOST_LAYERS
            counts = "labels" in key or "experts" in key or "layers" in key or key == "n_layer"
            if counts and isinstance(value, int) and value > max(most, 2):
                have = f"{len(shapes)} weights, the largest with {rows} rows" if shapes else "no more than that"
                raise AttestError(
                    f"{path} says {key} {value}, and the model has {have}; expected at most {max(most, 2)}. Copy or download "
                    "the folder again."
                )


def shapes_beside(path: Path) -> dict[str, list[int]]:
    """Return the shape of each weight in the safetensors files beside a ``config.json``, by name; empty if there are none."""
    found: dict[str, list[int]] = {}
    files = [path.parent / SAFE_WEIGHTS_NAME]
    with suppress(Exception):  # a broken file is told of where it is loaded
        if (index := path.parent / SAFE_WEIGHTS_INDEX_NAME).is_file():
            named = {*map(str, json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())}
            files = [path.parent / file for file in named if Path(file).name == file]  # and no file of another folder
        for each in files:
            with safe_open(each, "pt") as file:
                found |= {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118 - no mapping
    return found


def misfit(path: Path, kind: Any, config: Any) -> str | None:
    """Return a sentence about the first weight beside a ``config.json`` that has another shape than in the model, or None.

    Args:
        kind: the ``AutoModel…`` that makes the model from its configuration.
        config: the configuration.
    """
    with suppress(Exception), torch.device("meta"):  # what cannot be made is told of where it is loaded
        model: PreTrainedModel = kind.from_config(config)
        shapes = {name: [*each.shape] for name, each in model.state_dict().items()}
        before = f"{model.base_model_prefix}."
        for name, found in sorted(shapes_beside(path).items()):
            own = next((each for each in (name, before + name, name.removeprefix(before)) if each in shapes), None)
            if own is not None and shapes[own] != found:
                return (
                    f"{path.parent} has the weight {name} of the shape {tuple(found)}, and its config.json asks for the shape "
                    f"{tuple(shapes[own])}; expected a config.json that belongs to the weights, with as many classes "
                    f"(id2label) and sizes as they have. {SAVE} writes both."
                )
    return None


def require_its_weights(name: str, model: PreTrainedModel, missing: Sequence[str], unexpected: Iterable[str]) -> None:
    """Refuse weights under other names than those of the model, and files that lack more than half of its weights.

    Args:
        missing: the names of the model's weights that the files do not have.
        unexpected: the names in the files that the model does not have.
    """
    if not missing:
        return
    others, wanted, every = sorted(unexpected), min(missing), len(model.state_dict())
    prefix = next((each.removesuffix(wanted) for each in others if each.endswith(f".{wanted}")), "")
    if prefix and {f"{prefix}{each}" for each in missing} <= {*others}:
        raise AttestError(
            f"the names of the weights of {name} begin with {prefix!r}, the name of what was trained around the model; "
            f"expected the names of {type(model).__name__}, such as {wanted}. Save the inner model with {SAVE}, or rename the "
            "weights in the file."
        )
    if 2 * len(missing) > every:
        has = f", and has others, such as {others[0]}" if others else ""
        raise AttestError(
            f"{name} lacks {len(missing)} of the {every} weights of {type(model).__name__}, such as {wanted}{has}; expected "
            f"whole weights of the model that its config.json names. {SAVE} writes both. Or copy the folder again."
        )
