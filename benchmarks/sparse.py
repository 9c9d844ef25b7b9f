"""Is sparse attention a better explanation? The table ``sparse``, corpus by corpus; ``benchmarks.sparse_answer`` sums it up.

    mkdir -p runs && for data in sst 20news conll2000; do tar xJf docs/results/runs-sparse-$data.tar.xz -C runs; done
    make reproduce TABLE=sparse DATA=sst SEEDS=5 RUN=0 ARGS="--results=docs/results --run.root=runs/sparse"
    python -m benchmarks.sparse --data sst --root runs   # keeps what each text says, and writes the page
    python -m benchmarks.sparse                          # writes the page from what is kept

What is compared, and how it is judged, was stated in ``configs/tables/sparse.yaml`` before the first run.
"""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from attest.core.measures import OverSeeds, standard_errors
from attest.core.measures.comparison import LEVEL
from attest.core.measures.numbers import percent
from attest.replication.comparison import ENOUGH_SEEDS
from attest.replication.plan import make_plan
from attest.report.run_tables import markdown_table
from attest.runs.asked import folder_of_words
from attest.runs.folder import INSTANCES, RunFolder, read_json, write_table, write_text
from attest.runs.published_tables import read_published, table_file

RESULTS = Path(__file__).parents[1] / "docs" / "results"
PAGE = RESULTS / "sparse-corpora.md"
FAMILY = "right"
PROXIES = {
    "support": "share of tokens with attention above 0",
    "H̃ attention": "entropy of attention",
    "H̃ importance": "entropy of the importance of inputs",
    "τ gradients, inputs": "τ-b with gradients",
    "τ leave-one-out, inputs": "τ-b with leave-one-out",
    "flips under permuted attention": "decisions that flip when attention is permuted",
}
"""The proxies of the papers: columns of the table, and what they are."""
ORDER = ("sst", "20news", "conll2000", "imdb")
"""The corpora in the order in which they are run if time is short, as stated."""
SEEDS_STATED = {"sst": 5}
"""Of the other corpora three."""
ORDERED = 6
"""The fewest differences whose order can agree clearly: p is at least 2 / 5! = 0.017 for five, 2 / 6! = 0.003 for six."""
DRAWS = 10_000
READ = ("right", "right_random", "right_leave_one_out")
"""What is kept of each text: whether the first words of attention, of a random order and of leave-one-out decide."""
NOT_IN_TAGGERS = "right_leave_one_out"
"""What is not measured in a tagger, and NaN there."""
ABOUT = (
    "In which share of the texts that need words does attention point at the [words that decide](../deciding.md)? "
    "[The answer](sparse-attention.md) stands on a page of its own. Hypotheses, tests and the order of runs were stated on "
    "2026-11-28 in `configs/tables/sparse.yaml`, before the first run: each setting is compared with softmax in the same "
    "architecture, with the same seeds and on the same texts. *More?* and *as many?* are the verdicts of claims that are "
    "judged together (each of a corpus's m settings at 0.05 / m); intervals without another word are of 95 %, over texts "
    "drawn again. *Too few words*: attention is above 0 on fewer words than decide, so that it cannot point at them all; this "
    "column was added when the first results were known, and decides nothing. All numbers: "
    "`make reproduce TABLE=sparse`, then `python -m benchmarks.sparse`."
)
LIMITS = (
    "Random embeddings, one recipe for each architecture, and at most 160 texts of each run are searched. Attention is asked "
    "about words, and other readings of a tagger are not asked (–); what is right about states is [not "
    "settled](../deciding.md). The test over seeds has few degrees of freedom, so that small differences are seldom shown. "
    "[A pretrained Transformer](sparse-pretrained.md) is asked apart."
)


def keep(data: str, root: Path) -> Path:
    """Keep whether attention and leave-one-out are right in each text, for each finished run of a corpus.

    Of runs that the folder has only as the archive keeps them, without their texts, what was kept before stays.

    Returns:
        The file: a table with the columns ``row`` and ``seed`` of the run, ``id`` of each text that needs words,
        ``READ`` (0 or 1), ``words`` (of the smallest deciding set) and ``support`` (words with attention above 0). Beside it
        lie the ``accuracy`` of each run, and the numbers and claims of ``table.json``, which ``make reproduce`` has written.
    """
    table = read_published(table_file("sparse"))
    plan = make_plan([table], SEEDS_STATED.get(data, 3), folder_of_words, (data,), (f"--run.root={root}",))
    runs = [
        (row, seed, RunFolder(folder))
        for (row, _, _), by_seed in plan.tables["sparse"].items()
        for seed, folder in by_seed.items()
    ]
    accuracies = [
        {"row": row, "seed": seed, "accuracy": read_json(run.summary)["test/accuracy"]}
        for row, seed, run in runs
        if run.summary.is_file()
    ]
    folder = RESULTS / f"sparse-{data}"
    write_beside_others(folder / "runs.parquet", pd.DataFrame(accuracies, columns=["row", "seed", "accuracy"]))
    keep_of_table(folder)
    read = [texts_of(run).assign(row=row, seed=seed) for row, seed, run in runs if run.evidence("E19").is_file()]
    file = folder / "texts.parquet"
    write_beside_others(file, pd.concat(read) if read else pd.DataFrame(columns=["row", "seed", "id"]))
    return file


def write_beside_others(file: Path, anew: pd.DataFrame) -> None:
    """Write rows of runs into a table; of other runs the rows stay that the table had before."""
    kept = [anew]
    if file.is_file():
        before, runs = pd.read_parquet(file), {*zip(anew["row"], anew["seed"], strict=True)}
        kept.append(before[[key not in runs for key in zip(before["row"], before["seed"], strict=True)]])
    found = pd.concat([rows for rows in kept if len(rows)])
    write_table(file, found.sort_values(["seed", "row", *found.columns.intersection(["id"])], ignore_index=True))


def keep_of_table(folder: Path) -> None:
    """Keep of ``table.json``, which git ignores, what the pages need: ``numbers.parquet`` and ``claims.parquet``."""
    written = read_json(folder / "table.json")
    numbers = pd.DataFrame(written["numbers"])[["row", "column", "ours", "low", "high"]]
    numbers[["ours", "low", "high"]] = numbers[["ours", "low", "high"]].astype(float)  # null where undefined
    write_table(folder / "numbers.parquet", numbers)
    write_table(folder / "claims.parquet", pd.DataFrame(written["claims"])[["left", "expect", "verdict"]])


def texts_of(run: RunFolder, read: Sequence[str] = READ) -> pd.DataFrame:
    """Return the columns that ``keep`` keeps of one run, but for ``row`` and ``seed``; ``read`` in the place of ``READ``."""
    tagger = not run.evidence(INSTANCES).is_file()
    measured = [column for column in read if not (tagger and column == NOT_IN_TAGGERS)]
    decided = pd.read_parquet(run.evidence("E19"), columns=["id", "words", *measured]).dropna(subset="right")
    if tagger:  # it attends in several heads
        return decided.assign(**{NOT_IN_TAGGERS: np.nan}, support=np.nan)
    attention = pd.read_parquet(run.evidence(INSTANCES), columns=["id", "attention"]).set_index("id")["attention"]
    return decided.assign(support=[int((np.asarray(attention[each]) > 0).sum()) for each in decided["id"]])


def over_seeds(differences: np.ndarray) -> tuple[float, float]:
    """Return the 95 % t-interval of a mean over seeds, from float ``(S,)``; NaN for fewer than three seeds or no spread."""
    ours = OverSeeds.of(list(differences))
    if ours.seeds < ENOUGH_SEEDS or ours.std == 0:
        return np.nan, np.nan
    return ours.interval(standard_errors(ours.seeds - 1, 0.95))


def over_texts(differences: np.ndarray) -> tuple[float, float]:
    """Return the 95 % interval of the mean difference over texts drawn again, with all their seeds.

    Args:
        differences: float ``(S, N)`` for S seeds and N texts; NaN where a text needs no words in one of the two runs.
    """
    known = ~np.isnan(differences)
    counts = np.random.default_rng(0).multinomial(
        differences.shape[1], np.full(differences.shape[1], 1 / differences.shape[1]), DRAWS
    )
    means = (counts @ np.nan_to_num(differences).T) / np.maximum(1, counts @ known.T.astype(int))
    low, high = np.quantile(means.mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def by_seed_and_text(texts: pd.DataFrame, column: str) -> dict[str, pd.DataFrame]:
    """Return a column for each row of the table: a data frame with a row for each seed and a column for each text."""
    wide = texts.pivot_table(index=["row", "seed"], columns="id", values=column, dropna=False)
    return {row: wide.loc[row] for row in wide.index.unique("row")}


def differences(left: pd.DataFrame, right: pd.DataFrame) -> np.ndarray:
    """Return left minus right in each text of the seeds that both have, float ``(S, N)``; NaN where one of them has none."""
    seeds = sorted({*left.index} & {*right.index})
    return left.loc[seeds].to_numpy() - right.loc[seeds].to_numpy()


def proxies(numbers: pd.DataFrame, pairs: list[tuple[str, str]]) -> pd.DataFrame:
    """Return how the differences of each proxy order like those of the share: ``proxy``, ``tau``, ``p``, ``would`` have told.

    Args:
        numbers: the means over seeds, a row for each row of the table and a column for each of its columns.
        pairs: the rows that are compared.
    """
    apart = pd.DataFrame([numbers.loc[left] - numbers.loc[right] for left, right in pairs])
    found = [stats.kendalltau(apart["right"], apart[name]) for name in PROXIES]
    table = pd.DataFrame(
        {"proxy": list(PROXIES), "tau": [each.statistic for each in found], "p": [each.pvalue for each in found]}
    )
    return table.assign(would=table["p"] < LEVEL / len(PROXIES))


def points(low: float, high: float) -> str:
    """Return an interval of differences of shares as text, in points, of which there are at most 100."""
    return "–" if np.isnan(low) else f"[{100 * max(low, -1):+.0f}, {100 * min(high, 1):+.0f}]"


def share_of(values: np.ndarray) -> str:
    """Return a mean over seeds and texts, float ``(S, N)`` with NaN, as text with its interval over texts; – without any."""
    if np.isnan(values).all():
        return "–"
    low, high = over_texts(values)
    return f"{percent(float(np.nanmean(values, axis=1).mean()))} [{percent(low)}, {percent(high)}]"


HEAD = (
    *(
        "network",
        "seeds, texts",
        "accuracy (90 % over seeds)",
        "attention is right",
        "random order",
        "leave-one-out",
        "too few words",
    ),
    *("points above softmax", "… over seeds", "… over texts", "more?", "as many?"),
)


def _rows(rows: Iterable[str], numbers: pd.DataFrame, claims: pd.DataFrame, texts: pd.DataFrame) -> Iterator[list[str]]:
    yield list(HEAD)
    read = {column: by_seed_and_text(texts, column) for column in READ}
    short = by_seed_and_text(texts.assign(short=(texts["support"] < texts["words"]).astype(float)), "short")
    for row in rows:
        if row not in read["right"]:
            yield [row, "not run", *[""] * (len(HEAD) - 2)]
            continue
        accuracy, right = numbers.loc[row, "accuracy"], read["right"][row]
        spread = "" if np.isnan(accuracy["low"]) else f" [{percent(accuracy['low'], 1)}, {percent(accuracy['high'], 1)}]"
        line = [
            row,
            f"{len(right)}, {right.count(axis=1).mean():.0f}",
            f"{percent(accuracy['ours'], 1)}{spread}",
            *(share_of(read[column][row].to_numpy()) for column in READ),
            share_of(short[row].to_numpy()),
        ]
        mine = claims[claims["left"] == f"{row} · right"].set_index("expect")["verdict"]
        softmax = read["right"].get(f"{row.partition(',')[0]}, softmax")
        if mine.empty or softmax is None or not {*right.index} & {*softmax.index}:
            yield [*line, *[""] * 5]
            continue
        apart = differences(right, softmax)
        by_seed = np.nanmean(apart, axis=1)
        told = f"{100 * by_seed.mean():+.0f}", points(*over_seeds(by_seed)), points(*over_texts(apart))
        yield [*line, *told, mine["greater"], mine["equal"]]


@dataclass(frozen=True)
class OnCorpus:
    """What is known of one corpus: differences, verdicts and proxies."""

    data: str
    claims: pd.DataFrame
    """The claims of the table, as in ``table.json``."""
    right: Mapping[str, pd.DataFrame]
    """Whether attention is right, by row of the table, as ``by_seed_and_text`` returns it."""
    pairs: Sequence[tuple[str, str]]
    """The rows that are compared: a sparse one, and that of softmax."""
    told: pd.DataFrame | None
    """What ``proxies`` returns; None if there are too few differences to order."""

    @property
    def seeds(self) -> int:
        """Return how many seeds have run."""
        return max(map(len, self.right.values()))

    @property
    def points_apart(self) -> dict[str, list[float]]:
        """Return by how many points more texts are right than under softmax, in the mean over seeds, by network."""
        apart: dict[str, list[float]] = {}
        for left, softmax in self.pairs:
            if left in self.right and softmax in self.right:
                points = 100 * np.nanmean(differences(self.right[left], self.right[softmax]), axis=1).mean()
                apart.setdefault(left.partition(",")[0], []).append(points)
        return apart

    def count(self, column: str, expect: str, verdict: str | None = None) -> int:
        """Return how many claims about a column of the table got a verdict; with None, how many have one."""
        about = self.claims["left"].str.endswith(f" · {column}") & (self.claims["expect"] == expect)
        verdicts = self.claims[about]["verdict"]
        return int((verdicts != "undefined").sum() if verdict is None else (verdicts == verdict).sum())

    def answer(self) -> str:
        """Return how far apart the settings are, and counts of verdicts once enough seeds have run."""
        each = [f"{name} {min(points):+.0f} to {max(points):+.0f} points" for name, points in self.points_apart.items()]
        differs = (
            "in the mean over seeds, the share of texts in which sparse attention is right differs from that of softmax by: "
            f"{', '.join(each)}."
        )
        if self.seeds < ENOUGH_SEEDS:
            return f"No claim is judged before {ENOUGH_SEEDS} seeds have run. So far, {differs}"
        once = self.count("right", "greater", "holds for the mean, not in the texts of every seed")
        alone = f" (in {once} more in the mean over seeds, but not in the texts of every seed)" if once else ""
        return (
            f"{differs[0].upper()}{differs[1:]} Of {len(self.pairs)} sparse settings on {self.data}, attention is shown to "
            f"point at the words that decide in more texts than under softmax in {self.count('right', 'greater', 'holds')}"
            f"{alone}, and in fewer in {self.count('right', 'greater', 'contradicted')}. In "
            f"{self.count('right', 'equal', 'holds')} it is shown to do so in as many, within 10 points; the others are not "
            f"settled by {self.seeds} seeds. The accuracy is shown to be the same within 3 points in "
            f"{self.count('accuracy', 'equal', 'holds')}."
        )


def shown_in_all(known: Sequence[OnCorpus]) -> str:
    """Return in how many settings, over all corpora, attention is shown to be right in more, fewer and as many texts."""
    holds = [sum(each.count("right", *asked) for each in known)
             for asked in (("greater", "holds"), ("greater", "contradicted"), ("equal", "holds"))]  # fmt: skip
    settings = sum(len(each.pairs) for each in known)
    *others, last = (each.data for each in known)
    corpora = f"{', '.join(others)} and {last}" if others else last
    return (
        f"On {corpora}, {settings} settings of sparse attention are compared with softmax. Attention is shown to point at the "
        f"words that decide in more texts in {holds[0]} of them, in fewer in {holds[1]}, and in as many in {holds[2]}; the "
        "others are not settled."
    )


def signs_in_all(known: Sequence[OnCorpus]) -> str:
    """Return in which networks the means over seeds have one sign on all corpora."""
    points: dict[str, list[float]] = {}
    for each in known:
        for network, apart in each.points_apart.items():
            points.setdefault(network, []).extend(apart)
    signs = {network: {value > 0 for value in apart} for network, apart in points.items()}
    more, fewer, either = (
        ", ".join(network for network, found in signs.items() if found == sign) or "no network"
        for sign in ({True}, {False}, {True, False})
    )
    return (
        f"In the mean over seeds it does so in more texts under every sparse setting of: {more}; in fewer under every one of: "
        f"{fewer}; the sign depends on corpus or projection in: {either}."
    )


def proxies_in_all(known: Sequence[OnCorpus]) -> str:
    """Return which proxies order the settings like the share on each corpus that has enough of them."""
    told = [{*each.told.loc[each.told["would"], "proxy"]} for each in known if each.told is not None]
    proxies = ", ".join(sorted(set.intersection(*told))) if told else ""
    return f"Proxies that order the settings like the share on each of {len(told)} corpora: {proxies or 'none'}."


def answer_of_all(known: Sequence[OnCorpus]) -> str:
    """Return the answer over all corpora."""
    return " ".join([shown_in_all(known), signs_in_all(known), proxies_in_all(known)])


def on_corpus(data: str) -> tuple[OnCorpus, pd.DataFrame, pd.DataFrame]:
    """Return what is known of a corpus, the numbers of its table by row and column, and what is kept of its texts."""
    folder, table = RESULTS / f"sparse-{data}", read_published(table_file("sparse"))
    rows, claims, texts = (pd.read_parquet(folder / f"{name}.parquet") for name in ("numbers", "claims", "texts"))
    numbers = rows.set_index(["row", "column"])
    pairs = [(claim.left[0], claim.right[0]) for claim in table.claims if claim.family == FAMILY and data in claim.data]
    told = proxies(numbers["ours"].unstack(), pairs) if len(pairs) >= ORDERED else None
    return OnCorpus(data, claims, by_seed_and_text(texts, "right"), pairs, told), numbers, texts


def part_of(found: OnCorpus, numbers: pd.DataFrame, texts: pd.DataFrame) -> list[str]:
    """Return the part of the page about a corpus, from what ``on_corpus`` returns."""
    here = [row.name for row in read_published(table_file("sparse")).rows.values() if found.data in row.data]
    stated = SEEDS_STATED.get(found.data, 3)
    looked = [] if found.seeds >= stated else [f"**A look on the way**: {found.seeds} of {stated} seeds have run."]
    return [
        f"## {found.data}",
        *looked,
        found.answer(),
        markdown_table(list(_rows(here, numbers, found.claims, texts))),
        *([] if found.told is None else _proxies_told(found.told, len(found.pairs))),
    ]


def _proxies_told(told: pd.DataFrame, pairs: int) -> list[str]:
    would = [f"{PROXIES[each.proxy]} ({each.proxy})" for each in told.itertuples() if each.would]
    return [
        f"Would a proxy have told? {pairs} differences from softmax of each proxy, ordered beside those of the share "
        f"(Kendall's τ-b; {len(PROXIES)} proxies, each at {LEVEL} / {len(PROXIES)}): {'; '.join(would) or 'none would'}.",
        markdown_table([
            ["proxy", "what it is", "τ-b", "p"],
            *([each.proxy, PROXIES[each.proxy], f"{each.tau:+.2f}", f"{each.p:.2g}"] for each in told.itertuples()),
        ]),
    ]  # fmt: skip


def have_run() -> list[str]:
    """Return the corpora of which something is kept, in their order."""
    return [data for data in ORDER if (RESULTS / f"sparse-{data}" / "texts.parquet").is_file()]


def not_run() -> str:
    """Return a sentence that names the corpora of which nothing is kept; empty if there is none."""
    return f"Not run: {', '.join(missing)}." if (missing := [data for data in ORDER if data not in have_run()]) else ""


def write() -> None:
    """Write the page from what is kept of the corpora that have run."""
    measured = [on_corpus(data) for data in have_run()]
    known = [found for found, _, _ in measured if found.seeds >= ENOUGH_SEEDS]
    parts = [
        "# Sparse attention, corpus by corpus",
        *([answer_of_all(known)] if known else []),
        ABOUT,
        *(part for each in measured for part in part_of(*each)),
        "## Limits",
        f"{LIMITS} {not_run()}".strip(),
    ]
    write_text(PAGE, "\n\n".join(parts) + "\n")


def main() -> None:
    """Keep what each text says, if a folder of runs is given, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--root", type=Path, help="the folder of all runs")
    typed = parser.parse_args()
    if typed.root:
        print(keep(typed.data, typed.root))
    write()
    print(PAGE)


if __name__ == "__main__":
    main()
