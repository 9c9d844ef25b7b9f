"""Libraries without others that they import where these are installed, and that we do not need with them.

With Lightning comes torchmetrics, and with it transformers for scores of texts, three seconds; SciPy's signals for scores of
sounds and Matplotlib for pictures of scores, another. No run of ours has such a score or picture; whoever needs the packages
for something else imports them later. With spaCy comes PyTorch, a second, which its rules of English do not need.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module, metadata

from attest.runs.class_paths import strange_class
from attest.runs.folder import RunFolder
from attest.runs.words import are_ours

IMPORTING = "torchmetrics"
NEEDLESS = ("transformers", "scipy", "matplotlib")


def import_lightly(arguments: Sequence[str]) -> None:
    """Import torchmetrics as if nothing were installed that it can do without, before Lightning imports it.

    Nothing happens where a file or a class from elsewhere was typed, which may use all of torchmetrics.

    Args:
        arguments: choices and options.
    """
    if are_ours(arguments) and IMPORTING not in sys.modules:
        import_module("torch")  # with all that it uses
        with _looking_not_installed([package for package in NEEDLESS if package not in sys.modules]):
            import_module(IMPORTING)


def import_lightly_for(run: RunFolder) -> None:
    """The same for a run that is there, unless its settings name classes from elsewhere.

    Args:
        run: with its configuration.
    Raises:
        AttestError: that cannot be read.
    """
    if strange_class(run.settings()) is None:
        import_lightly(())


def import_spacy_without_torch() -> None:
    """Import spaCy as if PyTorch were not installed, unless either is there already.

    For a process that tokenises and ends: PyTorch can be imported later, but spaCy's own networks will not find it.
    """
    if not {"spacy", "torch"} & sys.modules.keys():
        with _looking_not_installed(["torch"]):
            import_module("spacy")


@contextmanager
def _looking_not_installed(packages: Sequence[str]) -> Iterator[None]:
    """Nobody can import packages or learns of their versions."""
    distribution = metadata.distribution

    def others(distribution_name: str) -> metadata.Distribution:
        if distribution_name in packages:
            raise metadata.PackageNotFoundError(distribution_name)
        return distribution(distribution_name)

    metadata.distribution = others
    sys.modules.update(dict.fromkeys(packages))  # type: ignore[arg-type]  # None: it cannot be imported
    try:
        yield
    finally:
        metadata.distribution = distribution
        for package in packages:
            del sys.modules[package]
