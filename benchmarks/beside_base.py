"""Settings of training beside a base: in which share of texts is attention right, with the same seeds and on the same texts?

What is kept of the runs is two tables: ``runs.parquet`` (``row``, the name of the setting; ``seed``; ``accuracy``) and
``texts.parquet`` (``row``, ``seed``, and the columns of ``benchmarks.sparse.keep``).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from attest.core.measures import OverSeeds
from attest.core.measures.comparison import mcnemar
from attest.core.measures.numbers import percent
from attest.replication.comparison import HOLDS, judge_claim
from attest.report.run_tables import markdown_table
from attest.runs.folder import RunFolder, write_table, write_text
from benchmarks.sparse import by_seed_and_text, differences, over_seeds, over_texts, points, share_of, texts_of

MARGIN = 0.03
"""Of accuracy; the share of texts is claimed to be greater."""


@dataclass(frozen=True)
class Settings:
    """What is compared, and where it is kept.

    Args:
        kept: the folder of the two tables.
        base: the name of the setting that all others are compared with.
        tried: the others: their names, and what they are in words.
        read: what is asked of each text, by column of E19: the titles in the page; the first is the tested explanation.
    """

    kept: Path
    base: str
    tried: Mapping[str, str]
    read: Mapping[str, str]

    def keep(self, runs: Iterable[tuple[str, int, RunFolder]]) -> None:
        """Keep the accuracy of each run, and whether explanations are right in each of its texts that need words."""
        kept, texts = [], []
        for name, seed, folder in runs:
            tested = pd.read_parquet(folder.evidence("instances"), columns=["label", "predicted"])
            kept.append({"row": name, "seed": seed, "accuracy": float((tested["label"] == tested["predicted"]).mean())})
            texts.append(texts_of(folder, list(self.read)).assign(row=name, seed=seed))
            print(f"{name}, seed {seed}: {folder.path}", flush=True)
            write_table(self.kept / "runs.parquet", pd.DataFrame(kept))
            write_table(self.kept / "texts.parquet", pd.concat(texts, ignore_index=True))

    def judged(self, name: str, runs: pd.DataFrame, right: Mapping[str, pd.DataFrame]) -> tuple[np.ndarray, str, str]:
        """Return how far a setting is from the base in each text, float ``(S, N)``, and verdicts about share and accuracy."""
        ours, theirs = (right[each].loc[right[name].index].to_numpy() for each in (name, self.base))
        apart = differences(right[name], right[self.base])
        known = ~np.isnan(apart)
        tests = [mcnemar(*(each[row][known[row]] > 0 for each in (ours, theirs)), "greater").p_value
                 for row in range(len(apart))]  # fmt: skip
        accuracy = runs.pivot(index="seed", columns="row", values="accuracy").loc[right[name].index]
        more = judge_claim("greater", OverSeeds.of(list(np.nanmean(apart, axis=1))), tests, 0.0, len(self.tried))
        alike = judge_claim("equal", OverSeeds.of(list(accuracy[name] - accuracy[self.base])), (), MARGIN, len(self.tried))
        return apart, more, alike

    def tables(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return what is kept of runs and of texts."""
        runs, texts = (pd.read_parquet(self.kept / f"{name}.parquet") for name in ("runs", "texts"))
        return runs, texts

    def page(self) -> tuple[str, list[str]]:
        """Return the table of all settings that have run, and the names of those that raise the share at equal accuracy."""
        runs, texts = self.tables()
        read = {column: by_seed_and_text(texts, column) for column in self.read}
        right = read[next(iter(self.read))]
        raised, lines = [], [[
            *("setting", "what it is", "seeds, texts", "accuracy", *self.read.values()),
            *("points above the base", "… over seeds", "… over texts", "more?", "same accuracy?"),
        ]]  # fmt: skip
        for name in (self.base, *self.tried):
            if name not in right:
                lines.append([name, self.tried[name], "not run", *[""] * (len(lines[0]) - 3)])
                continue
            line = [name, self.tried.get(name, "the base"), f"{len(right[name])}, {right[name].count(axis=1).mean():.0f}"]
            line += [percent(runs[runs["row"] == name]["accuracy"].mean(), 1)]
            line += [share_of(read[column][name].to_numpy()) for column in self.read]
            if name == self.base:
                lines.append([*line, *[""] * 5])
                continue
            apart, more, alike = self.judged(name, runs, right)
            by_seed = np.nanmean(apart, axis=1)
            told = f"{100 * by_seed.mean():+.0f}", points(*over_seeds(by_seed)), points(*over_texts(apart))
            lines.append([*line, *told, more, alike])
            raised += [name] if (more, alike) == (HOLDS, HOLDS) else []
        return markdown_table(lines), raised

    def write(self, path: Path, title: str, about: str, limits: str) -> None:
        """Write the page from what is kept."""
        table, raised = self.page()
        write_text(path, "\n\n".join([f"# {title}", about, self.answer(raised), table, "## Limits", limits]) + "\n")

    def answer(self, raised: list[str]) -> str:
        """Return the answer in one sentence."""
        found = f"{len(raised)} of {len(self.tried)}: {', '.join(raised)}" if raised else "none of them"
        return f"Shown to raise the share of texts in which {next(iter(self.read.values()))}, at equal accuracy: **{found}**."
