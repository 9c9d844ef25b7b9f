"""Is sparse attention a better explanation? The answer over all corpora and the pretrained Transformer, on one short page.

python -m benchmarks.sparse_answer    # writes the page from what benchmarks.sparse and benchmarks.sparse_pretrained keep
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from attest.replication.comparison import HOLDS
from attest.report.figures import CLASS_COLOURS
from attest.report.run_tables import markdown_table
from attest.runs.folder import write_text
from benchmarks.sparse import (
    ENOUGH_SEEDS,
    RESULTS,
    OnCorpus,
    by_seed_and_text,
    differences,
    have_run,
    not_run,
    on_corpus,
    over_seeds,
    points,
    proxies_in_all,
    share_of,
    shown_in_all,
)
from benchmarks.sparse_pretrained import COMPARED

PAGE = RESULTS / "sparse-attention.md"
PICTURE = RESULTS / "sparse-attention.png"
PROJECTIONS = ("softmax", "1.5-entmax", "sparsemax", "sparsegen −1", "sparsegen 0.5", "sparsegen 0.9")
MARKERS = {"BiLSTM": "o", "CNN": "s", "average": "^", "Transformer": "D", "tagger": "v", "MiniLM": "P", "MiniLM, swapped": "X"}
PRETRAINED, SWAPPED = "MiniLM", "MiniLM, swapped"
ABOUT = (
    "Papers have asked it and answered by proxies. Here it is measured: in which share of the texts that need words does "
    "attention point at the [words that decide](../deciding.md)? Hypotheses, tests and the order of runs were stated on "
    "2026-11-28, before the first run, in `configs/tables/sparse.yaml` and `benchmarks/sparse_pretrained.py`. Each setting is "
    "compared with softmax in the same network, with the same seeds and on the same texts. In MiniLM, which was pretrained "
    "with softmax, the explanation is attention rollout; *swapped* is the base with another projection after fine-tuning."
)
CELLS = (
    "Cells: points above softmax [95 % over seeds], and whether attention is shown to be right in more texts, by a claim that "
    "is judged with all others of its corpus. The share under softmax has its interval over texts. Details, accuracies, other "
    "readings and proxies: [corpus by corpus](sparse-corpora.md), [MiniLM](sparse-pretrained.md). Command: "
    "`python -m benchmarks.sparse_answer`, after the commands of these two pages."
)
LIMITS = (
    "Own networks have random embeddings, and one recipe each, which was made for softmax; MiniLM is one model on one corpus. "
    "At most 160 texts of each run are searched (80 of MiniLM). Three seeds (five on SST) show large effects alone."
)


def setting_of(name: str) -> tuple[str, str]:
    """Return the network and the projection of a setting of the pretrained Transformer."""
    projection, swapped, _ = name.partition(", swapped")
    return (SWAPPED if swapped else PRETRAINED), projection


def cell(right: pd.DataFrame, softmax: pd.DataFrame, verdict: str) -> str:
    """Return how far a setting lies above softmax, with its interval over seeds and the verdict of its claim."""
    by_seed = np.nanmean(differences(right, softmax), axis=1)
    return f"{100 * by_seed.mean():+.0f} {points(*over_seeds(by_seed))} {verdict}"


def rows_of(known: Sequence[OnCorpus]) -> Iterator[list[str]]:
    """Yield the rows of the table: a row for each corpus and network."""
    for found in known:
        more = found.claims[found.claims["expect"] == "greater"].set_index("left")["verdict"]
        for network in dict.fromkeys(row.partition(", ")[0] for row in found.right):
            softmax = found.right[f"{network}, softmax"]
            cells = {
                projection: cell(right, softmax, more[f"{network}, {projection} · right"])
                for projection in PROJECTIONS[1:]
                if (right := found.right.get(f"{network}, {projection}")) is not None
            }
            yield row_of(found.data, network, softmax, cells)
    runs, texts = COMPARED.tables()
    right = by_seed_and_text(texts, next(iter(COMPARED.read)))
    told: dict[str, dict[str, str]] = {PRETRAINED: {}, SWAPPED: {}}
    for name in COMPARED.tried:
        network, projection = setting_of(name)
        told[network][projection] = cell(right[name], right[COMPARED.base], COMPARED.judged(name, runs, right)[1])
    for network, cells in told.items():
        yield row_of("sst", network, right[COMPARED.base], cells)


def row_of(data: str, network: str, softmax: pd.DataFrame, cells: Mapping[str, str]) -> list[str]:
    """Return a row of the table: the share under softmax, and what is said of each other projection."""
    return [data, network, share_of(softmax.to_numpy()), *(cells.get(each, "") for each in PROJECTIONS[1:])]


def pretrained_in_words() -> str:
    """Return in which settings of the pretrained Transformer rollout is shown to be right in more texts."""
    runs, texts = COMPARED.tables()
    right = by_seed_and_text(texts, next(iter(COMPARED.read)))
    holds = [name for name in COMPARED.tried if COMPARED.judged(name, runs, right)[1] == HOLDS]
    return (
        f"In a pretrained Transformer (MiniLM on sst, asked about attention rollout) it is shown to do so in {len(holds)} of "
        f"{len(COMPARED.tried)}{': ' if holds else ''}{', '.join(holds)}."
    )


def other_readings(known: Sequence[OnCorpus]) -> str:
    """Return what sparsity does to other readings: claims about leave-one-out, and shares in the pretrained Transformer."""
    asked = "right, leave-one-out", "equal"
    holds, claims = sum(each.count(*asked, HOLDS) for each in known), sum(each.count(*asked) for each in known)
    _, texts = COMPARED.tables()
    shares = [
        f"{title} is right in {share_of(by_seed[COMPARED.base].to_numpy())} under softmax, "
        + ", ".join(f"{share_of(by_seed[name].to_numpy())} under {name}" for name in COMPARED.tried if "swapped" not in name)
        for column, title in COMPARED.read.items()
        if column in ("right_gradient_input_signed", "right_leave_one_out")
        for by_seed in [by_seed_and_text(texts, column)]
    ]
    return (
        "**Other readings.** Leave-one-out is shown to be right in as many texts as under softmax, within 10 points, in "
        f"{holds} of {claims} settings of own networks. In MiniLM {'; '.join(shares)}."
    )


def points_of_runs(data: str) -> pd.DataFrame:
    """Return a row for each run: ``network``, ``projection``, ``accuracy``, and ``right``, the share of texts."""
    if data == PRETRAINED:
        runs, texts = COMPARED.tables()
        named = runs["row"].map(setting_of)
    else:
        runs, texts = (pd.read_parquet(RESULTS / f"sparse-{data}" / f"{name}.parquet") for name in ("runs", "texts"))
        named = runs["row"].str.split(", ", n=1).map(tuple)
    column = next(iter(COMPARED.read)) if data == PRETRAINED else "right"
    shares = texts.groupby(["row", "seed"])[column].mean().rename("right").reset_index()
    runs = runs.assign(network=[each[0] for each in named], projection=[each[1] for each in named])
    return runs.merge(shares, on=["row", "seed"])


def picture(panels: Sequence[str]) -> Figure:
    """Draw the share of texts in which attention is right, against accuracy: a panel for each corpus, a point for each run."""
    figure = Figure(figsize=(12, 3.6), layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True)
    for one, data in zip(np.atleast_1d(axes), panels, strict=True):
        for (network, projection), runs in points_of_runs(data).groupby(["network", "projection"], sort=False):
            colour = CLASS_COLOURS[PROJECTIONS.index(projection)]
            one.scatter(runs["accuracy"], runs["right"], s=26, color=colour, marker=MARKERS[network], alpha=0.85)
        one.set(title="MiniLM on sst (rollout)" if data == PRETRAINED else data, xlabel="accuracy", ylim=(0, 1))
    np.atleast_1d(axes)[0].set_ylabel("share of texts in which attention is right")
    colours = [one.scatter([], [], color=CLASS_COLOURS[place], label=name) for place, name in enumerate(PROJECTIONS)]
    shapes = [one.scatter([], [], color="grey", marker=marker, label=name) for name, marker in MARKERS.items()]
    figure.legend(handles=[*colours, *shapes], loc="outside right center", frameon=False, fontsize=8)
    return figure


def page() -> str:
    """Return the page as Markdown."""
    known = [found for found, _, _ in map(on_corpus, have_run()) if found.seeds >= ENOUGH_SEEDS]
    head = ("corpus", "network", "right under softmax", *PROJECTIONS[1:])
    parts = [
        "# Is sparse attention a better explanation?",
        f"{shown_in_all(known)} {pretrained_in_words()} {proxies_in_all(known)}",
        ABOUT,
        f"![Share of texts in which attention is right, against accuracy: a point a run]({PICTURE.name})",
        markdown_table([head, *rows_of(known)]),
        CELLS,
        other_readings(known),
        "## Limits",
        f"{LIMITS} {not_run()}".strip(),
    ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Write the page and its picture."""
    write_text(PAGE, page())
    drawn = picture([*have_run(), PRETRAINED])
    drawn.dpi = 110
    FigureCanvasAgg(drawn).print_png(PICTURE)
    print(PAGE)


if __name__ == "__main__":
    main()
