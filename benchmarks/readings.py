"""Attention beside ten other readings, on models and corpora side by side: writes docs/results/bench.md.

python -m benchmarks.readings --models <folder> --pretrained minilm=<folder of a fine-tuned classifier of SST>

A small BiLSTM is trained on planted texts and on SST, unless --models has it already: about a quarter of an hour in all.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch

import attest
from attest.core.measures.comparison import LEVEL
from attest.core.measures.numbers import number
from attest.datamodules.labelled import labelled
from attest.experiments.readings import READINGS
from attest.experiments.readings.compared import SURVIVAL, column_of, title_of
from attest.report.readings import TESTS, leads_over_attention
from attest.report.run_tables import markdown_table
from attest.runs.folder import write_text

PAGE = Path(__file__).parents[1] / "docs" / "results" / "bench.md"
COMMAND = "python -m benchmarks.readings --models <folder>"
QUIETLY = ("--trainer.enable_progress_bar=false", "--run.processes=1")
SMALL = [
    "--model.init_args.network.init_args.encoder.init_args.embedding_size=64",
    "--model.init_args.network.init_args.encoder.init_args.hidden_size=32",
    "--model.init_args.optimizer.init_args.lr=0.005",
]
COUNTS = {"train": 1600, "validation": 200, "test": 300}
BRIEFLY = {
    "planted": [
        *SMALL,
        *(f"--data.init_args.{name}_texts={count}" for name, count in COUNTS.items()),
        "--trainer.max_epochs=8",
    ],
    "sst": [*SMALL, "--trainer.max_epochs=2"],
}
"""How long the BiLSTMs are trained: long enough to decide, and not until they decide best."""
ASKED = [name for name in READINGS if name not in ("random", "attention")]
TRUTH = ("precision", "auprc")
SURVIVAL_TITLES = {"attention": "beaten, not attended", "deleted": "beaten, deleted"}


def trials(models: Path, pretrained: dict[str, str], texts: int) -> Iterator[tuple[str, attest.Trial]]:
    """Yield each setting and its trial."""
    for data, briefly in BRIEFLY.items():
        run = attest.train(data, "bilstm", root=models, experiments="none", logger="csv", arguments=[*QUIETLY, *briefly])
        yield f"BiLSTM, {data}", _tried(run.model, [*run.split("test")], texts)
    corpus = labelled("sst", "test", texts)
    for name, folder in pretrained.items():
        yield f"{name}, sst", _tried(folder, corpus.texts, texts)


def _tried(model: object, data: Sequence[object], texts: int) -> attest.Trial:
    """Return a trial of all readings that suit the model; those that read a text hundreds of times among them."""
    names = [name for name in ASKED if READINGS[name].by_name]
    tried = attest.trial(model, data, {"E15": {"texts": texts}}, readings=[*_suited(model, data), *names], progress=False)
    return tried


def _suited(model: object, data: Sequence[object]) -> list[str]:
    """Return the readings that a trial of one text finds, by name."""
    first = data[:1] if isinstance(data[0], str) else [{name: data[0][name][:2] for name in ("token_ids", "mask")}]
    table = attest.trial(model, first, {"E15": {"sets": 1}}, progress=False).table("E15")
    return [name for name in ASKED if f"win_comprehensiveness_{column_of(name)}" in table]


def rows_of(trial: attest.Trial) -> pd.DataFrame:
    """Return a row for each reading: means with the half-widths of 95 % intervals over texts, p-values, seconds a text."""
    table = trial.table("E15")
    seconds = json.loads(trial.folder.timing.read_text())["seconds_a_text"]
    first, second = (f"{each}_" for each in SURVIVAL)
    names = [name.removeprefix(first) for name in table if name.startswith(first)]
    tested = leads_over_attention(table)
    rows = []
    for name in names:
        row = {"reading": title_of(name), "texts": int(table[first + name].count())}
        row |= {"attention": _interval(table[first + name]), "deleted": _interval(table[second + name])}
        row |= {each: _interval(table[f"{each}_{name}"]) for each in TRUTH if f"{each}_{name}" in table}
        if name in tested.index:
            row |= dict(tested.loc[name])
        took = seconds.get(name.removesuffix("_signed").replace("_", "-"))
        row |= {
            "seconds": "–" if took is None else f"{took:.2g}",
            "order": float(table[first + name].mean() + table[second + name].mean()),
        }
        rows.append(row)
    return pd.DataFrame(rows).sort_values("order", ascending=False, ignore_index=True)


def _interval(column: pd.Series) -> str:
    if not column.notna().any():
        return "–"
    half = 1.96 * column.std() / np.sqrt(column.count())
    return f"{number(column.mean())} ± {number(half)}"


def page(settings: dict[str, pd.DataFrame], machine: str) -> str:
    """Return the page as Markdown."""
    parts = [
        "# Attention beside ten other readings",
        f"E15 on {len(settings)} models. Made by `{COMMAND}`; {machine}. Samples are small: read the intervals (95 %, over "
        "texts), not the digits.",
        "Beaten: share of 20 random sets of as many tokens that move the prediction less, when nothing attends to the tokens, "
        "or when they are deleted; 0.5 is chance. Truth, on planted texts whose decision hangs on it: precision of as many "
        "tokens as decide, and average precision. p: Wilcoxon's signed-rank test over texts against attention (of "
        "Transformers, attention rollout), of the mean of both ways to erase, corrected for all readings of the table by "
        "Bonferroni and by Benjamini and Hochberg. Seconds a text: one core.",
    ]
    for name, rows in settings.items():
        shown = rows.assign(**{by: rows[by].map(lambda p: "–" if np.isnan(p) else number(p)) for by in TESTS.values()})
        columns = [each for each in ("reading", *SURVIVAL_TITLES, *TRUTH, *TESTS.values(), "seconds") if each in shown]
        titles = SURVIVAL_TITLES | {"auprc": "average precision", "seconds": "seconds a text"}
        titles |= {by: title for title, by in TESTS.items()}
        body = shown[columns].fillna("–").astype(str).to_numpy().tolist()
        certain = rows["benjamini_hochberg"] < LEVEL
        better, worse = (rows.loc[certain & side, "reading"].tolist() for side in (rows["lead"] > 0, rows["lead"] < 0))
        parts += [
            f"## {name}",
            f"{rows['texts'].max()} texts. Better than attention by more than chance (BH): {', '.join(better) or 'none'}. "
            f"Worse: {', '.join(worse) or 'none'}.",
            markdown_table([[titles.get(column, column) for column in columns], *body]),
        ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Try all settings and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True, help="where trained models are kept")
    parser.add_argument("--pretrained", action="append", default=[], help="name=folder of a classifier of SST")
    parser.add_argument("--texts", type=int, default=24)
    typed = parser.parse_args()
    torch.set_num_threads(1)
    settings = {}
    for name, trial in trials(typed.models, dict(each.split("=", 1) for each in typed.pretrained), typed.texts):
        settings[name] = rows_of(trial)
        print(name, settings[name].to_string(), flush=True)
        write_text(PAGE, page(settings, f"torch {torch.__version__}, one thread"))


if __name__ == "__main__":
    main()
