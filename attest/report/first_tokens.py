"""Do other readings rank the same tokens first as attention does? Read off the weights of tokens that a run has stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from attest.core.measures import top_k_overlap
from attest.core.measures.numbers import number, percent
from attest.core.memory import by_rows
from attest.experiments.registry import EXPERIMENTS
from attest.report.controls import Control
from attest.report.truth import IMPORTANCES, of_same_texts, read_of
from attest.report.verdict import Line, share

K = (1, 3, 5)
"""Sizes of the sets that are compared."""
DRAWN = 3
"""The size that is drawn."""
QUESTION = f"Do others rank the same {DRAWN} tokens first?"
ALIVE = 12
"""Numbers of 8 bytes that are alive for each token of each importance while sets are compared."""
MEANS = "Of the tokens that attention ranks first, the share that the other reading ranks first, too."
LEGEND = (
    "Columns “first k”: of the k tokens with the most attention, the share that the other reading has among its k first, too. "
    "Means over the texts with more than k tokens, in brackets the 95 % confidence interval; tokens that tie at the k-th "
    "place share the places that are left. Random tokens share k of the T tokens of a text. τ-b compares all pairs of tokens, "
    "most of them of two unimportant tokens: readings that agree on the first tokens can still have a low τ-b."
)
SPECIAL = (
    " Special tokens such as [CLS], and the token at which a Transformer decides, are left out: they are in every text, and a "
    "model may attend to them because it stores there what it has read."
)
UNKNOWN = (
    " Special tokens such as [CLS] and [SEP] count as tokens here: this run has not stored which they are. They are in every "
    "text, so readings may share them among their first."
)
SPECIAL_COLUMN = "special"
"""Of the table of texts: where tokens are not ranked."""
EMPTY = "–"


@dataclass(frozen=True)
class FirstTokens:
    """How many of the first tokens of attention are also those of each importance.

    Args:
        shares: one row a text, ``<importance>/<k>`` and ``random/<k>``, in [0, 1]; NaN where undefined.
        taus: Kendall's τ-b with attention, mean over texts, by importance; NaN where undefined.
        legend: how to read the table.
    """

    shares: pd.DataFrame
    taus: Mapping[str, float]
    legend: str = LEGEND

    def lines(self, k: int = DRAWN) -> list[Line]:
        """Of the importances that are drawn, each beside random tokens of the same texts."""
        return [line for name, title in IMPORTANCES.items() if (line := self._line(name, title, k)) is not None]

    @property
    def sentence(self) -> str | None:
        """How often the very first token is the same; None where that is not known."""
        found = self.lines(1)
        said = " and ".join(f"of {line.name} in {percent(line.value or 0.0, 1)}" for line in found)
        chance = f"a random token would be in {found[0].controls[0].text}" if found else ""
        return f"The token with the most attention is also the first {said} of texts; {chance}." if found else None

    @property
    def header(self) -> list[str]:
        """Headings of the table."""
        return ["reading", "τ-b with attention", *(f"first {k}" for k in self._sizes)]

    @property
    def rows(self) -> list[list[str]]:
        """Its cells as text, random tokens last."""
        titles = {name: title for name, title in _titles().items() if name in self.taus}
        body = [[title, _tau(self.taus[name]), *(self._cell(name, k) for k in self._sizes)] for name, title in titles.items()]
        return [*body, ["Random tokens", number(0.0), *(self._cell("random", k) for k in self._sizes)]]

    @property
    def _sizes(self) -> list[int]:
        """Those that some text is long enough for."""
        return [k for k in K if self.shares[f"random/{k}"].notna().any()]

    def _line(self, name: str, title: str, k: int) -> Line | None:
        values = self.shares.get(f"{name}/{k}")
        if values is None or not values.notna().any():
            return None
        chance = float(self.shares.loc[values.notna(), f"random/{k}"].mean())
        return share("first_tokens/share", title, values, MEANS, Control("random tokens", percent(chance, 1), chance))

    def _cell(self, name: str, k: int) -> str:
        if name == "random":
            return percent(float(self.shares[f"random/{k}"].mean()), 1)
        line = self._line(name, name, k)
        return EMPTY if line is None else line.ours


def compared_first_tokens(instances: pd.DataFrame | None, importances: pd.DataFrame | None) -> FirstTokens | None:
    """Compare the first tokens of attention with those of every importance; None where their weights are not stored.

    Args:
        instances: one row a text; ``attention`` holds one value a token.
        importances: the table of E1; its texts are found by ``id``. Texts that it did not read are left out.
    """
    if instances is None or importances is None or not {"id", "attention"} <= {*instances}:
        return None
    read = read_of(instances, importances)
    rows = of_same_texts(read, importances)
    if rows is None or not len(read):
        return None
    names = [name for name in _titles() if {name, f"tau_{name}"} <= {*rows}]
    if not names:
        return None
    if SPECIAL_COLUMN not in read:
        in_subwords = any(name.startswith("tau_words_") for name in rows)
        return replace(_compared(read["attention"], rows, names), legend=LEGEND + UNKNOWN if in_subwords else LEGEND)
    ranked = [~np.asarray(each, dtype=bool) for each in read[SPECIAL_COLUMN]]
    found = _compared(read["attention"], rows, names, ranked)
    return found if all(map(np.all, ranked)) else replace(found, legend=LEGEND + SPECIAL)


def _compared(
    attention: pd.Series, rows: pd.DataFrame, names: list[str], kept: Sequence[np.ndarray] | None = None
) -> FirstTokens:
    """Of all tokens, or of those that are kept, bool ``(T,)`` a text."""

    def of(weights: pd.Series) -> np.ndarray:
        if kept is None:
            return weights.to_numpy()
        some = np.empty(len(weights), dtype=object)
        some[:] = [np.asarray(each)[left] for each, left in zip(weights, kept, strict=True)]
        return some

    without = any(name.startswith("tau_without_special_") for name in rows)  # of runs whose τ-b still ranks special tokens
    tau = "tau_without_special_" if without and kept is not None else "tau_"
    taus = {name: float(rows[f"{tau}{name}"].mean()) if f"{tau}{name}" in rows else np.nan for name in names}
    return FirstTokens(_shares(of(attention), {name: of(rows[name]) for name in names}), taus)


def _titles() -> dict[str, str]:
    """What each importance is called beside a text, by its column."""
    return {weights.column: weights.title for weights in EXPERIMENTS["E1"].weights}


def _tau(value: float) -> str:
    return EMPTY if np.isnan(value) else number(value)


def _shares(attention: np.ndarray, importances: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """A row a text; every text padded to the longest of those that are compared at once."""
    lengths = torch.tensor([len(weights) for weights in attention])

    def of_rows(texts: Tensor) -> Tensor:
        mask = torch.arange(int(lengths[texts].max())) < lengths[texts].unsqueeze(-1)
        ours, *others = (_padded(each[texts.numpy()], mask) for each in (attention, *importances.values()))
        return torch.stack([top_k_overlap(ours, other, k, mask) for other in others for k in K], dim=-1)

    columns = [f"{name}/{k}" for name in importances for k in K]
    row = 8 * ALIVE * (1 + len(importances)) * max(1, int(lengths.max()))
    found = pd.DataFrame(by_rows(of_rows, row, torch.arange(len(lengths))).numpy(), columns=columns)
    random = {f"random/{k}": np.where(lengths > k, k / lengths, np.nan) for k in K}
    return found.assign(**random)


def _padded(weights: np.ndarray, mask: Tensor) -> Tensor:
    """Ragged weights of texts as one tensor, 0 at padding: object ``(B,)``, ``(B, T)`` -> float64 ``(B, T)``."""
    padded = torch.zeros(mask.shape, dtype=torch.float64)
    padded[mask] = torch.from_numpy(np.concatenate(weights).astype(float))
    return padded
