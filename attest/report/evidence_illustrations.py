"""Which figures the tables of a run allow, and how each is to be read."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from attest.report import evidence_figures as draw
from attest.report.illustration import Illustration

Tables = Mapping[str, pd.DataFrame]


def evidence_illustrations(tables: Tables, class_names: Sequence[str]) -> Iterator[Illustration]:
    """Figures of E1, E3, E10, E11 and E12, in that order, where their tables are there.

    Args:
        tables: one row an instance, by experiment.
        class_names: in class order.
    """
    for identity, figures in {"E1": _e1, "E3": _e3, "E10": _e10, "E11": _e11, "E12": _e12}.items():
        if identity in tables and "predicted" in tables[identity]:
            yield from figures(tables[identity], class_names)


def _e1(rows: pd.DataFrame, class_names: Sequence[str]) -> Iterator[Illustration]:
    yield Illustration(
        "E1/tau_histograms",
        "E1  Attention and feature importance",
        "Kendall's τ-b of attention with gradient × input and with leave-one-out, by predicted class (Jain & Wallace 2019, "
        "Fig. 2 and 8). Dashed: the mean. Dotted: what a text of median length needs for p < 0.05.",
        draw.importance_histograms(rows, class_names),
    )
    yield Illustration(
        "E1/inputs_and_hidden_states",
        "E1  Inputs and hidden states",
        "Mean τ-b with importance of inputs and of hidden states (Meister et al. 2021, Fig. 1 and 4). Attention agrees with "
        "the hidden states that it weights; whether it agrees with the inputs is another question. Diamonds: the ceiling.",
        draw.importance_bars(rows, class_names),
    )


def _e3(rows: pd.DataFrame, class_names: Sequence[str]) -> Iterator[Illustration]:
    exact = "jsd_exact" in rows
    how = "Exact." if exact else "By search: more than two classes, or a decoder that is not linear, allow no exact answer."
    yield Illustration(
        "E3/jsd_by_max_attention",
        "E3  Adversarial attention",
        f"How different an attention gives the same prediction, by the largest weight of the text. {how} ln 2 is the most "
        "there is; large values under a large weight mean: attention was sure, and something quite different would have done.",
        draw.adversary_violins(rows, "jsd_exact" if exact else "jsd_search", class_names),
    )
    if "jsd_search" not in rows:
        return
    yield Illustration(
        "E3/jsd_histograms",
        "E3  ε-max JSD, searched and exact",
        "Distribution of the largest JSD within ε that gradient search finds and that there is (survey, Fig. 11).",
        draw.adversary_histograms(rows, class_names),
    )
    if exact:
        yield Illustration(
            "E3/exact_against_search",
            "E3  What the search misses",
            "One point a text. On the line the search found the most different attention; above it there is a better one.",
            draw.exact_against_search(rows, class_names),
        )


def _e10(rows: pd.DataFrame, class_names: Sequence[str]) -> Iterator[Illustration]:
    yield Illustration(
        "E10/entropies",
        "E10  How concentrated is influence?",
        "Normalised entropy, 1: spread evenly, 0: on one token (Meister et al. 2021, Fig. 2 and "
        "Table 1; the last on a sample).",
        draw.entropy_bars(rows, class_names),
    )


def _e11(rows: pd.DataFrame, class_names: Sequence[str]) -> Iterator[Illustration]:
    yield Illustration(
        "E11/erasure_of_one",
        "E11  Erasing one token",
        "How much more the outcome moves without the most attended token than without a random other one (Serrano & "
        "Smith 2019). Points below 0: the other one mattered more.",
        draw.erasure_scatter(rows, class_names),
    )


def _e12(rows: pd.DataFrame, class_names: Sequence[str]) -> Iterator[Illustration]:
    least = " The minimum is exact: no order can do with less." if "fraction_minimum" in rows else ""
    every = len(rows.filter([f"fraction_{order}" for order in draw.ORDERS]).dropna())
    yield Illustration(
        "E12/erasure_until_flip",
        "E12  Erasing until the decision flips",
        "Share of the tokens whose weights are zeroed before the decision flips, by order (Serrano & Smith 2019). An order "
        f"that needs few names the tokens that decide. Only the {every:,} of {len(rows):,} texts that flip in every order are "
        f"drawn.{least}",
        draw.erasure_boxes(rows, class_names),
    )
