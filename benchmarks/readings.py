"""Attention beside other readings, on models and corpora side by side: writes docs/results/bench.md, a group a command.

python -m benchmarks.readings --models <folder> --only sst

The groups are planted, sst and 20news (small BiLSTMs, trained in a minute or two unless --models has them already), minilm
(--pretrained <folder of a MiniLM fine-tuned on SST>), decoder, a small Llama, and conll2000, a tagger, trained as fast. What
was measured lies in docs/results/bench, and the page is made of all of it.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn

import attest
from attest.core.measures.comparison import LEVEL
from attest.core.measures.numbers import number
from attest.datamodules.labelled import labelled
from attest.experiments.readings import READINGS
from attest.experiments.readings.compared import SURVIVAL, column_of, title_of
from attest.experiments.registry import OF_TAGS
from attest.models.layers_observed import observe_layers
from attest.report.readings import TESTS, leads_over_attention
from attest.report.run_tables import markdown_table
from attest.runs.folder import write_text

PAGE = Path(__file__).parents[1] / "docs" / "results" / "bench.md"
MEASURED = PAGE.with_suffix("")
COMMAND = "python -m benchmarks.readings --models <folder> --only"
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
    "20news": [*SMALL, "--trainer.max_epochs=8"],
}
"""How long the BiLSTMs are trained: long enough to decide, and not until they decide best."""
GROUPS = (*BRIEFLY, "minilm", "decoder", "conll2000")
TRUTH = ("precision", "auprc")
SURVIVAL_TITLES = {"attention": "beaten, not attended", "deleted": "beaten, deleted"}


NAMED = ("planted", "sst")
"""The groups with KernelSHAP and LIME, which read a text 256 times each."""
SHORT = 10
FEWER = {"minilm": 10}
"""Random sets of each size, where they are not 20."""
AFFORDED = ("norm", "contribution", "value-zeroing", "gradient-input", "lrp", "leave-one-out")
"""The readings of MiniLM that take at most as many passes as a text has tokens."""


def tried(group: str, models: Path, pretrained: str, texts: int) -> tuple[str, attest.Trial]:
    """Return a title of the group and its trial."""
    asked: dict[str, object] = {"texts": texts}
    if group == "minilm":
        short = [text for text in labelled("sst", "test", 400).texts if len(text.split()) <= SHORT][:texts]
        title = f"MiniLM fine-tuned on SST, sentences of at most {SHORT} words"
        return title, _tried(pretrained, short, asked | {"sets": FEWER["minilm"]}, AFFORDED)
    data = group if group in BRIEFLY else "sst"
    run = attest.train(data, "bilstm", root=models, experiments="none", logger="csv", arguments=[*QUIETLY, *BRIEFLY[data]])
    tested = [*run.split("test")]
    model = run.model if group in BRIEFLY else _decoder([*run.split("train")], tested)
    title = f"BiLSTM, {group}" if group in BRIEFLY else "Llama of 2 layers, trained on SST alone"
    return title, _tried(model, tested, asked, _suited(model, tested, named=group in NAMED))


def _tags(models: Path, texts: int) -> pd.DataFrame:
    """Return the table of E15 of a small Transformer that tags CoNLL-2000, for the tag of one word a sentence."""
    briefly = [*QUIETLY, "--trainer.max_epochs=3"]
    run = attest.train("conll2000", "tagger", root=models, experiments="none", logger="csv", arguments=briefly)
    batches = [*run.split("test")]
    everyone = torch.cat([batch["id"] for batch in batches])
    parts = []
    for batch in batches:
        seen = observe_layers(run.model, *(batch[name] for name in ("id", "token_ids", "mask", "tags")))
        columns = OF_TAGS["E15"].run(seen, everyone=everyone, seed=0, texts=texts)
        parts.append(pd.DataFrame({name: column.double().numpy() for name, column in columns.items()}))
    return pd.concat(parts, ignore_index=True)


def _decoder(train: Sequence[dict], test: Sequence[dict], epochs: int = 3) -> nn.Module:
    """Return a small Llama that has learned to classify from nothing, by batches of token ids."""
    from transformers import LlamaConfig, LlamaForSequenceClassification

    torch.manual_seed(0)
    words = 1 + max(int(batch["token_ids"].max()) for batch in [*train, *test])
    config = LlamaConfig(
        vocab_size=words, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=128, pad_token_id=0, num_labels=2,
    )  # fmt: skip
    model = LlamaForSequenceClassification(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(epochs):
        for batch in train:
            told = {"input_ids": batch["token_ids"], "attention_mask": batch["mask"].long(), "labels": batch["label"].long()}
            model(**told).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    return model.eval()


def _suited(model: object, batches: Sequence[dict], named: bool) -> list[str]:
    """Return the readings that suit a model, and those that are computed by name alone if they are wanted."""
    first = [{name: batches[0][name][:2] for name in ("token_ids", "mask")}]
    table = attest.trial(model, first, {"E15": {"sets": 1}}, progress=False).table("E15")
    suited = [name for name in READINGS if f"win_comprehensiveness_{column_of(name)}" in table]
    asked = [name for name in suited if name not in ("random", "attention")]
    return [*asked, *(name for name in READINGS if READINGS[name].by_name and named)]


def _tried(model: object, data: Sequence[object], asked: dict, readings: Sequence[str] | None, **how: object) -> attest.Trial:
    return attest.trial(model, data, {"E15": asked}, readings=readings, progress=False, **how)


def rows_of(table: pd.DataFrame, seconds: Mapping[str, float]) -> pd.DataFrame:
    """Return a row for each reading: means with the half-widths of 95 % intervals over texts, p-values, seconds a text.

    Args:
        table: of E15.
        seconds: a text, by reading.
    """
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
    found = pd.DataFrame(rows).sort_values("order", ascending=False, ignore_index=True)
    certain = found["benjamini_hochberg"] < LEVEL
    sides = np.select([certain & (found["lead"] > 0), certain & (found["lead"] < 0)], ["better", "worse"], "not told apart")
    return found.assign(beside_attention=sides).drop(columns=["order", "lead", "p"])


def _interval(column: pd.Series) -> str:
    if not column.notna().any():
        return "–"
    half = 1.96 * column.std() / np.sqrt(column.count())
    return f"{number(column.mean())} ± {number(half)}"


def page(settings: dict[str, pd.DataFrame]) -> str:
    """Return the page as Markdown, from the rows of each group by its title."""
    parts = [
        "# Attention beside other readings",
        *_in_words(settings),
        "Beaten: share of random sets of as many tokens that move the prediction less, when nothing attends to the tokens, "
        "or when they are deleted; 0.5 is chance. Truth, on planted texts whose decision hangs on it: precision of as many "
        "tokens as decide, and average precision. p: Wilcoxon's signed-rank test over texts against attention (of "
        "Transformers, attention rollout), of the mean of both ways to erase, corrected for all readings of the table by "
        "Bonferroni and by Benjamini and Hochberg. ±: 95 % over texts. Seconds a text: one core that others use, too. Samples "
        "are small: read the intervals, not the digits. Of CoNLL-2000 the decision is the tag of one random word of each "
        "sentence; a tagger has fewer readings.",
    ]
    for name, rows in settings.items():
        better, worse = _certain(rows)
        shown = rows.assign(**{by: rows[by].map(lambda p: "–" if np.isnan(p) else number(p)) for by in TESTS.values()})
        columns = [each for each in ("reading", *SURVIVAL_TITLES, *TRUTH, *TESTS.values(), "seconds") if each in shown]
        titles = SURVIVAL_TITLES | {"auprc": "average precision", "seconds": "seconds a text"}
        titles |= {by: title for title, by in TESTS.items()}
        body = shown[columns].fillna("–").astype(str).to_numpy().tolist()
        group, count = rows["group"].iloc[0], rows["texts"].max()
        parts += [
            f"## {name}",
            f"{count} texts, {FEWER.get(group, 20)} random sets; `{COMMAND} {group} --texts {count}`. Better than attention "
            f"by more than chance (BH): {', '.join(better) or 'none'}. Worse: {', '.join(worse) or 'none'}.",
            markdown_table([[titles.get(column, column) for column in columns], *body]),
        ]
    return "\n\n".join(parts) + "\n"


def _certain(rows: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Return the readings that are better than attention, and those that are worse, by more than chance."""
    better, worse = (rows.loc[rows["beside_attention"] == side, "reading"].tolist() for side in ("better", "worse"))
    return better, worse


def _in_words(settings: dict[str, pd.DataFrame]) -> list[str]:
    """Return what agrees on all models and what does not."""
    sides = {name: _certain(rows) for name, rows in settings.items()}
    known = {name: rows.loc[rows["texts"] > 0, "reading"].tolist() for name, rows in settings.items()}
    every = dict.fromkeys(reading for names in known.values() for reading in names)
    readings = {each: [name for name, names in known.items() if each in names] for each in every}
    lines = []
    for reading, where in readings.items():
        better = [name for name in where if reading in sides[name][0]]
        worse = [name for name in where if reading in sides[name][1]]
        if better or worse:
            found = [f"{said} on {len(models)}" for said, models in (("better", better), ("worse", worse)) if models]
            lines.append((len(better) - len(worse), f"* **{reading}**: {', '.join(found)} of {len(where)}"))
    lines.sort(key=lambda line: -line[0])
    firsts = [f"{rows['reading'].iloc[0]} ({name})" for name, rows in settings.items()]
    return [
        f"E15 on {len(settings)} models. In short, against attention, by more than chance:",
        "\n".join(line for _, line in lines) or "* No reading is told apart from attention.",
        f"First of its table: {'; '.join(firsts)}. {_agrees(sides)}",
    ]


def _agrees(sides: dict[str, tuple[list[str], list[str]]]) -> str:
    better, worse = ({each for of_model in sides.values() for each in of_model[place]} for place in (0, 1))
    if not better & worse:
        return "No reading is better on one model and worse on another."
    both = ", ".join(sorted(better & worse))
    return f"Better on one model and worse on another: {both}. So no ranking of readings carries over: ask your own model."


def main() -> None:
    """Try a group and write the page from all that was tried."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True, help="where trained models are kept")
    parser.add_argument("--only", choices=GROUPS, help="the group of rows; without it the page is written from what is there")
    parser.add_argument("--pretrained", default="", help="a folder of a model")
    parser.add_argument("--texts", type=int, default=24)
    typed = parser.parse_args()
    torch.set_num_threads(1)
    if typed.only:
        if typed.only == "conll2000":
            title, table, seconds = (
                "Transformer of 1 layer, conll2000",
                _tags(typed.models, typed.texts),
                {},
            )
        else:
            title, trial = tried(typed.only, typed.models, typed.pretrained, typed.texts)
            table, seconds = trial.table("E15"), json.loads(trial.folder.timing.read_text())["seconds_a_text"]
        MEASURED.mkdir(exist_ok=True)
        rows_of(table, seconds).assign(title=title, group=typed.only).to_csv(MEASURED / f"{typed.only}.csv", index=False)
    found = [pd.read_csv(path) for group in GROUPS if (path := MEASURED / f"{group}.csv").exists()]
    write_text(PAGE, page({rows["title"].iloc[0]: rows for rows in found}))


if __name__ == "__main__":
    main()
