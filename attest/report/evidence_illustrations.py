"""Which figures the tables of a run allow, and how each is to be read: what the specs of its experiments say."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from attest.experiments.registry import EXPERIMENTS
from attest.experiments.spec import Drawing
from attest.report.class_names import most_predicted
from attest.report.illustration import Illustration

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Tables = Mapping[str, pd.DataFrame]


def evidence_illustrations(tables: Tables, class_names: Sequence[str]) -> Iterator[Illustration]:
    """Figures of experiments, in the order of the report, where their tables are there.

    Args:
        tables: one row an instance, by experiment.
        class_names: in class order.
    """
    for experiment, spec in EXPERIMENTS.items():
        rows = tables.get(experiment)
        if rows is not None and "predicted" in rows:
            possible = (drawing for drawing in spec.drawings if {*drawing.needs} <= {*rows.columns})
            yield from (_illustration(experiment, drawing, rows, class_names) for drawing in possible)


def _illustration(experiment: str, drawing: Drawing, rows: pd.DataFrame, class_names: Sequence[str]) -> Illustration:
    caption = drawing.caption if isinstance(drawing.caption, str) else drawing.caption(rows)
    return Illustration(
        f"{experiment}/{drawing.name}", f"{experiment}  {drawing.title}", caption, partial(_drawn, drawing, rows, class_names)
    )


def _drawn(drawing: Drawing, rows: pd.DataFrame, class_names: Sequence[str]) -> "Figure":
    from attest.report import evidence_figures, figures, knockout_figures, reading_figures  # with matplotlib

    if not isinstance(drawing.draw, str):
        return drawing.draw(rows, class_names)
    rooms = (evidence_figures, reading_figures, knockout_figures, figures)
    room = next(room for room in rooms if hasattr(room, drawing.draw))
    shown = most_predicted(rows, class_names) if room in (evidence_figures, figures) else (rows, class_names)
    return getattr(room, drawing.draw)(*shown)
