"""One text, what a model says of it, and everything that might explain why; shows itself in a terminal and in a notebook."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console

from attest.report.explained import COLOURS, VISIBLE, print_explained
from attest.report.explanations import Explanation, explanations
from attest.report.templating import render

WIDTH = 120
"""Columns of the plain form."""


class ExplainedText:
    """A text with all its explanations.

    Args:
        row: one text of ``joined``, with ``title``, ``tokens``, ``predicted``, ``probabilities`` and ``unknown``, the tokens
            that the model does not know.
    """

    def __init__(self, row: Mapping[str, Any]) -> None:
        self._row = row

    @classmethod
    def of_row(cls, row: Mapping[str, Any], class_names: Sequence[str]) -> "ExplainedText":
        """From a row of ``joined``, where classes are numbers.

        Args:
            row: as ``joined`` has it.
            class_names: in class order.
        """
        named = {
            "title": f"text {row['id']}",
            "tokens": list(row["tokens"]),
            "unknown": [],
            "predicted": class_names[int(row["predicted"])],
            "probabilities": {name: float(row[f"probability_{name}"]) for name in class_names},
        }
        label = {"label": class_names[int(row["label"])]} if "label" in row else {}
        return cls({**row, **named, **label})

    @property
    def tokens(self) -> list[str]:
        """The words of the text."""
        return list(self._row["tokens"])

    @property
    def predicted(self) -> str:
        """The class that the model decides for."""
        return str(self._row["predicted"])

    @property
    def label(self) -> str | None:
        """The class that the data say, where they say one."""
        return self._row.get("label")

    @property
    def probabilities(self) -> dict[str, float]:
        """Of each class."""
        return dict(self._row["probabilities"])

    @property
    def explanations(self) -> list[Explanation]:
        """Every explanation, each with one weight a token; attention first."""
        return explanations(self._row, in_detail=True)

    def weights(self) -> dict[str, np.ndarray]:
        """Float ``(T,)`` of each explanation, by its name."""
        return {each.name: each.weights for each in self.explanations}

    def __repr__(self) -> str:
        page = io.StringIO()
        print_explained([self._row], Console(file=page, width=WIDTH, color_system=None, highlight=False, force_jupyter=False))
        return page.getvalue().strip()

    def _repr_html_(self) -> str:
        return render("cell_text.html", text=self, unknown=self._row["unknown"], colours=COLOURS, visible=VISIBLE)
