"""Lightning without transformers: torchmetrics, which Lightning imports, imports it for scores of texts where it is installed.

That takes three seconds, and no run of ours has such a score.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module, metadata

from attest.runs.class_paths import names_known_classes
from attest.runs.folder import RunFolder
from attest.runs.words import are_ours

IMPORTING, NEEDLESS = "torchmetrics", "transformers"


def import_lightly(arguments: Sequence[str]) -> None:
    """Import torchmetrics as if transformers were not installed, before Lightning imports it.

    Nothing happens where a file or a class from elsewhere was typed, which may use all of torchmetrics.

    Args:
        arguments: choices and options.
    """
    if are_ours(arguments) and not {IMPORTING, NEEDLESS} & sys.modules.keys():
        with _looking_not_installed(NEEDLESS):
            import_module(IMPORTING)


def import_lightly_for(run: RunFolder) -> None:
    """The same for a run that is there, unless its settings name classes from elsewhere.

    Args:
        run: with its configuration.
    Raises:
        AttestError: that cannot be read.
    """
    if names_known_classes(run.settings()):
        import_lightly(())


@contextmanager
def _looking_not_installed(package: str) -> Iterator[None]:
    """Nobody who asks for the version of a package learns of it."""
    distribution = metadata.distribution

    def others(distribution_name: str) -> metadata.Distribution:
        if distribution_name == package:
            raise metadata.PackageNotFoundError(package)
        return distribution(distribution_name)

    metadata.distribution = others
    try:
        yield
    finally:
        metadata.distribution = distribution
