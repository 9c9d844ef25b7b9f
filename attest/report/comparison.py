"""``comparison.html``: runs side by side, over seeds, with paired tests."""

import math
import os
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from attest.measures import in_seed_spreads
from attest.measures.numbers import p_value
from attest.report.collection import Setting, settings_of, shared_keys
from attest.report.comparison_conclusions import apart, conclusions
from attest.report.decisions import decisions
from attest.report.described import QUESTIONS, described, label_of
from attest.report.figures import CLASS_COLOURS, to_svg
from attest.report.intervals import over_texts
from attest.report.notes import other_orders, other_texts
from attest.report.related_table import LONG
from attest.report.tables import cell
from attest.report.templating import render
from attest.report.value import value_of
from attest.report.verdict import scale_of
from attest.runs.folder import RunFolder, write_text

MARKS = "os^Dv*PX"


def write_comparison(path: Path, runs: Sequence[RunFolder]) -> None:
    """Write the page that sets runs side by side.

    Args:
        path: of the page.
        runs: two or more; those that differ in their seed alone are one setting.
    """
    settings = settings_of(runs)
    keys = shared_keys(settings)
    compared, note = decisions(settings), other_texts(settings)
    differing = [each.key for each in apart(settings, keys)] if note is None else []
    page = {
        "settings": settings,
        "conclusions": conclusions(settings, keys, compared, note is None),
        "other_texts": note,
        "other_orders": other_orders(settings, keys),
        "links": {each.name: _links(path, each) for each in settings},
        "differing": _groups(settings, [key for key in keys if key in differing]),
        "others": _groups(settings, [key for key in keys if key not in differing]),
        "meanings": [(described()[key].title, described()[key].means) for key in keys],
        "figure": to_svg(dots(settings, keys)),
        "decisions": [each for each in compared if each.test is not None],
        "unpaired": [each for each in compared if each.same is False],
        "pairs": list(combinations([each.name for each in settings], 2)),
        "differences": differences(settings, keys),
    }
    write_text(path, render("comparison.html", **page, long=LONG, p_value=p_value))


def _links(page: Path, setting: Setting) -> list[tuple[int, str | None]]:
    """Each seed with its report as seen from the page, where there is one."""
    return [
        (seed, os.path.relpath(run.report, page.parent).replace(os.sep, "/") if run.report.is_file() else None)
        for seed, run in sorted(setting.runs.items())
    ]


def _groups(settings: Sequence[Setting], keys: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a table by question: name and one cell a setting."""
    experiments = dict.fromkeys([*QUESTIONS, *(key.split("/")[0] for key in keys)])
    groups = [
        {
            "experiment": experiment,
            "question": QUESTIONS.get(experiment, ""),
            "rows": [
                {"name": described()[key].title, "cells": [_cell(each, key) for each in settings]}
                for key in keys if key.split("/")[0] == experiment
            ],
        }
        for experiment in experiments
    ]  # fmt: skip
    return [group for group in groups if group["rows"]]


def _cell(setting: Setting, key: str) -> str:
    """Mean and spread over seeds; of one seed the mean over its texts and its interval."""
    only = over_texts(next(iter(setting.summaries.values())), key) if len(setting.summaries) == 1 else None
    return cell(setting.over_seeds(key)) if only is None else str(only)


def dots(settings: Sequence[Setting], keys: Sequence[str]) -> Figure:
    """Every seed of every setting as a mark, one line a number, numbers of one scale in one panel.

    Args:
        settings: told apart by mark and colour.
        keys: of the numbers to draw.
    """
    panels: dict[tuple[float, float], list[str]] = {}
    for key in keys:
        panels.setdefault(scale_of(key), []).append(key)
    heights = [len(drawn) for drawn in panels.values()]
    figure = Figure(figsize=(9, 1.2 + 0.32 * sum(heights) + 0.5 * len(panels)), layout="constrained")
    grid = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, (scale, drawn) in zip(grid, panels.items(), strict=True):
        for place, setting in enumerate(settings):
            shift = 0.25 * (place - (len(settings) - 1) / 2) / max(1, len(settings) - 1)
            points = [
                (value, line + 2 * shift)
                for line, key in enumerate(drawn)
                for summary in setting.summaries.values()
                if (value := value_of(summary, key)) is not None
            ]
            x, y = zip(*points, strict=True) if points else ((), ())
            colour, mark = CLASS_COLOURS[place % len(CLASS_COLOURS)], MARKS[place % len(MARKS)]
            axes.plot(x, y, mark, markersize=5, alpha=0.8, label=setting.name, color=colour, mec="black", mew=0.4)
        axes.set_yticks(range(len(drawn)), [label_of(key) for key in drawn], fontsize=8)
        axes.set_ylim(len(drawn) - 0.5, -0.5)
        axes.set_xlim(*scale)
        axes.grid(axis="y", linewidth=0.3)
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside upper left", ncols=min(4, len(settings)), frameon=False)
    return figure


def differences(settings: Sequence[Setting], keys: Sequence[str]) -> list[tuple[str, list[str]]]:
    """For every number, how many seed spreads lie between every two settings; numbers without any left out."""
    rows = []
    for key in keys:
        values = [[v for summary in each.summaries.values() if (v := value_of(summary, key)) is not None] for each in settings]
        apart = [in_seed_spreads(first, second) for first, second in combinations(values, 2)]
        if not all(map(math.isnan, apart)):
            rows.append((label_of(key), ["–" if math.isnan(each) else f"{each:+.1f}".replace("-", "−") for each in apart]))
    return rows
