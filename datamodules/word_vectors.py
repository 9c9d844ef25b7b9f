"""The pretrained word vectors, from a text file, an installed package, or a file that is downloaded once.

Legend: V token ids of the vocabulary, E dimensions.
"""

import shutil
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow.parquet as pq
import torch
from filelock import FileLock
from numpy.lib.format import open_memmap
from torch import Tensor

from attest.core.errors import AttestError
from attest.core.memory import cache_folder
from attest.core.vector_files import first_line
from attest.datamodules.notice import say
from attest.datamodules.record import digest_of
from attest.datamodules.vocabulary import Vocabulary

NOT_TEXT = (
    "expected a text file with a word and its numbers on each line, in the format of fastText (.vec), GloVe (.txt) or "
    "word2vec (text)"
)


def read_vectors(path: Path, vocabulary: Vocabulary) -> Tensor:
    """Read the vectors of a vocabulary's words from a file; if a word occurs twice, its first vector is used."""
    if not path.is_file():
        raise AttestError(f"The file {path} does not exist; {NOT_TEXT}. Give the path of a file: EMBEDDINGS=<file>")
    return torch.from_numpy(_by_token_id(_vectors_of_lines(path, vocabulary.ids), vocabulary, str(path)))


def _by_token_id(vectors: Iterable[tuple[str, np.ndarray]], vocabulary: Vocabulary, where: str) -> np.ndarray:
    found: dict[int, np.ndarray] = {}
    for word, vector in vectors:
        found.setdefault(vocabulary.ids[word], vector)
    if not found:
        raise AttestError(
            f"{where} has no vector for any of the {len(vocabulary.words):,} words of the vocabulary; expected vectors in the "
            "language and the letter case of the corpus (most corpora here are in lower case). Give another file: "
            "EMBEDDINGS=<file>"
        )
    weights = np.zeros((len(vocabulary), len(next(iter(found.values())))), dtype=np.float32)
    weights[list(found)] = np.stack(list(found.values()))
    return weights


def _vectors_of_lines(path: Path, wanted: Collection[str]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the word and the vector of each line whose word is in ``wanted``; other lines are not parsed."""
    first_words = {word.encode() for word in wanted}
    size = 0
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            fields = line.rstrip().split(b" ")
            if number == 1:
                size, header = first_line(fields)
                if header:
                    continue
            if fields[0] in first_words:
                word = b" ".join(fields[:-size]).decode(errors="replace")  # GloVe has words with blanks
                vector = _numbers(fields[-size:], size, f"line {number} of {path}")
                if word in wanted:
                    yield word, vector


def _numbers(fields: list[bytes], size: int, where: str) -> np.ndarray:
    try:
        vector = np.array([float(field) for field in fields], dtype=np.float32)
    except ValueError:
        vector = np.empty(0, dtype=np.float32)
    if len(vector) != size or not size or not np.isfinite(vector).all():
        raise AttestError(f"{where} is not a word followed by {size} finite numbers; {NOT_TEXT}. Give another file.")
    return vector


Unseen = Literal["zeros", "random"]
RANDOM_STD = 0.1
"""Words without a pretrained vector can get a random one; this is the standard deviation of its components."""


@dataclass(frozen=True)
class VectorPackage:
    """A Python package that contains word vectors as an array, and the list of their words.

    Args:
        module: the module of the package, which is searched for and never run.
        vectors: the NumPy file of the array ``(words, E)``, below the folder of the module.
        words: the parquet file of the words, in its first column, in the order of the array.
        sha256: the hash of the file of the array.
    """

    name: str
    module: str
    vectors: str
    words: str
    sha256: str


@dataclass(frozen=True)
class WordVectors:
    """A published set of word vectors, with its source.

    Args:
        dimensions: E.
        url: the address of the public download.
        sha256: the hash of the downloaded file; None if it is not known.
        member: the file in the downloaded archive; None if the download is no archive.
        package: the package that has the same vectors; None if there is none.
    """

    name: str
    dimensions: int
    licence: str
    url: str
    sha256: str | None = None
    member: str | None = None
    package: VectorPackage | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "WordVectors":
        """Return the word vectors that the settings ``given`` describe."""
        try:
            package = given.get("package")
            return cls(**{**given, "package": None if package is None else VectorPackage(**package)})
        except TypeError as error:
            raise AttestError(
                f"data.init_args.embeddings is not valid ({error}); expected a file of vectors, or the keys of "
                "configs/embeddings/glove-50.yaml. Type EMBEDDINGS=glove-50"
            ) from None


def vectors_of(source: WordVectors | str, vocabulary: Vocabulary, unseen: Unseen = "zeros", seed: int = 0) -> Tensor:
    """Return a vector for each word of a vocabulary, and print how many words have a pretrained vector.

    Args:
        unseen: the vectors of the unknown word and of words without a pretrained vector: zeros, as in Jain & Wallace, or
            random numbers from N(0, 0.1²).
    Returns:
        float32 ``(V, E)``, by token id; padding is zero.
    """
    if isinstance(source, str):
        weights = read_vectors(Path(source).expanduser(), vocabulary).numpy()
    elif source.package is not None and (spec := find_spec(source.package.module)) and spec.submodule_search_locations:
        packed = _vectors_of_package(source.package, Path(spec.submodule_search_locations[0]), vocabulary.ids)
        weights = _by_token_id(packed, vocabulary, f"the package {source.package.name}")
    else:
        weights = read_vectors(_downloaded(source), vocabulary).numpy()
    has_one = weights.any(axis=1)
    found, words = int(has_one.sum()), len(vocabulary.words)
    starts = "at zero" if unseen == "zeros" else f"at random, N(0, {RANDOM_STD}²)"
    name = Path(source).name if isinstance(source, str) else source.name
    say(
        f"{name}: vectors of {weights.shape[1]} dimensions for {found:,} of {words:,} words ({found / words:.1%}); "
        f"the others start {starts}."
    )
    vectors = torch.from_numpy(weights)
    if unseen == "random":
        drawn = torch.randn(vectors.shape, generator=torch.Generator().manual_seed(seed)) * RANDOM_STD
        drawn[0] = 0
        vectors = torch.where(torch.from_numpy(has_one).unsqueeze(-1), vectors, drawn)
    return vectors


def _vectors_of_package(package: VectorPackage, folder: Path, wanted: Collection[str]) -> Iterator[tuple[str, np.ndarray]]:
    array = folder / package.vectors
    if (found := digest_of(array)) != package.sha256:
        raise AttestError(
            f"{array.name} of the package {package.name} has the hash {found[:16]}…; expected {package.sha256[:16]}…. Install "
            "that package again, or give a file of vectors: EMBEDDINGS=<file>"
        )
    vectors = open_memmap(array, mode="r")
    for place, word in enumerate(pq.read_table(folder / package.words).column(0).to_pylist()):
        if word in wanted:
            yield word, vectors[place]


def _downloaded(source: WordVectors) -> Path:
    folder = cache_folder() / "downloads"
    path = folder / (source.member or source.url.rsplit("/", 1)[-1])
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):  # processes that begin together download once
        if path.is_file():
            return path
        downloaded = folder / source.url.rsplit("/", 1)[-1]
        say(f"Downloading {source.url} ({source.licence}) into {folder}, once.")
        try:
            torch.hub.download_url_to_file(source.url, str(downloaded), hash_prefix=source.sha256, progress=True)
        except (OSError, RuntimeError) as error:
            package = "" if source.package is None else f"Type pip install {source.package.name}, or give"
            raise AttestError(
                f"{source.name} is not on this machine, and {source.url} could not be read ({error}). "
                f"{package or 'Give'} a file of vectors: EMBEDDINGS=<file>"
            ) from None
        if source.member is None:
            return downloaded
        unpacked = path.with_suffix(".part")
        with zipfile.ZipFile(downloaded) as archive, archive.open(source.member) as packed, unpacked.open("wb") as sink:
            shutil.copyfileobj(packed, sink)
        downloaded.unlink()
        return unpacked.replace(path)
