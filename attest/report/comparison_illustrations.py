"""Figures of a run that was compared with its base, and how they are to be read."""

from collections.abc import Iterator, Sequence

import pandas as pd

from attest.report.illustration import Illustration, drawn_by


def comparison_illustrations(rows: pd.DataFrame | None, class_names: Sequence[str]) -> Iterator[Illustration]:
    """The figure of E7, where there is its table.

    Args:
        rows: one an instance, columns as in ``attest.runs.comparison``.
        class_names: in class order.
    """
    if rows is not None:
        yield Illustration(
            "E7/jsd_by_max_attention",
            "E7  How differently does it attend?",
            "JSD between the attention of this run, an adversary, and of its base, by the largest weight of the base "
            "(Wiegreffe & Pinter 2019, Fig. 3). Much of it under a large weight means: the base was sure, and the same "
            "predictions can be had by looking elsewhere. Compare with the same figure of seeds, which make controls draws.",
            drawn_by("comparison_figures.divergence_violins", rows, class_names),
        )
