"""``EMBEDDINGS=glove-50``, ``EMBEDDINGS=random:50`` or ``EMBEDDINGS=vectors.vec``: the options that it stands for.

The network's embedding has as many dimensions as the vectors. Where that number stands is told by the file of the model: the
``embedding_size`` in it.
"""

from pathlib import Path
from typing import Any

import yaml

from attest.compute.vector_files import dimensions_in
from attest.errors import AttestError

SIZE = "embedding_size"


def names_a_file(value: str) -> bool:
    """Whether what was typed is a path, and not one of the shipped names."""
    return "/" in value or Path(value).suffix != "" or Path(value).is_file()


def embedding_options(value: str, shipped: Path | None, model: Path) -> list[str]:
    """The options.

    Args:
        value: as typed: a name, ``random:<dimensions>``, or the path of a file of vectors.
        shipped: the configuration file of a name; None for a path.
        model: the configuration file of the model.
    Raises:
        AttestError: there is no such file, no number behind the colon, or the model has no embedding of its own.
    """
    if shipped is None:
        return [f"--data.init_args.embeddings={value}", _size_option(_dimensions(value), model)]
    name, colon, parameter = value.partition(":")
    if colon:
        return [f"--config={shipped}", _size_option(_drawn(name, parameter), model)]
    vectors = yaml.safe_load(shipped.read_text())["data"]["init_args"]["embeddings"]
    return [f"--config={shipped}", *([] if vectors is None else [_size_option(vectors["dimensions"], model)])]


def _dimensions(path: str) -> int:
    found = dimensions_in(Path(path).expanduser())
    if found is None:
        raise AttestError(
            f"There is no file of vectors {path}; expected text, a word and its numbers on each line, as fastText (.vec), "
            "GloVe (.txt) or word2vec (text) write it. Type for example: make train DATA=sst EMBEDDINGS=glove-50"
        )
    return found


def _drawn(name: str, parameter: str) -> int:
    if name != "random" or not parameter.isdigit() or not int(parameter):
        raise AttestError(
            f"EMBEDDINGS={name}:{parameter} is not known; expected a number of dimensions after random only, for example "
            "EMBEDDINGS=random:50"
        )
    return int(parameter)


def _size_option(dimensions: int, model: Path) -> str:
    path = _path_to_size(yaml.safe_load(model.read_text()))
    if path is None:
        raise AttestError(
            f"MODEL={model.stem} has no word embedding for the vectors; expected a model that learns one, for example "
            "MODEL=bilstm. Leave EMBEDDINGS out."
        )
    return f"--{path}={dimensions}"


def _path_to_size(settings: Any) -> str | None:
    """The dotted name of the embedding's size in a configuration."""
    if not isinstance(settings, dict):
        return None
    if SIZE in settings:
        return SIZE
    found = ((name, _path_to_size(below)) for name, below in settings.items())
    return next((f"{name}.{rest}" for name, rest in found if rest is not None), None)
