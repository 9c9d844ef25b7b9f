"""Write a reproduced table as Markdown: our numbers and the published ones, what they mean, and which command, commits and
versions they come from.
"""

import hashlib
import json
import math
from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from attest.experiments.registry import EXPERIMENTS
from attest.experiments.stopping import ALL, READ
from attest.replication.comparison import CLAIM_VERDICTS, FAMILIES, LEVEL, NUMBER_VERDICTS, RULES, SHARE, UNDEFINED
from attest.replication.table import Folders, summary_of
from attest.report.run_tables import markdown_table
from attest.runs.folder import RunFolder, read_json
from attest.runs.published_tables import NEARLY, OTHER, SAME_SETTING, Publication, PublishedTable


def stamp(table: PublishedTable) -> str:
    """Return an HTML comment with a hash of the rules and the published table, which decide the verdicts."""
    decides = [RULES, FAMILIES, LEVEL, SHARE, asdict(table)]
    digest = hashlib.sha256(json.dumps(decides).encode()).hexdigest()
    return f"<!-- rules {RULES['fixed']} {digest[:12]} -->"


MARK, GONE, OWN, CLOSE = "†", "‡", "§", "¶"
MARK_OF = {SAME_SETTING: "", NEARLY: CLOSE, OTHER: MARK}
HEADINGS = {
    SAME_SETTING: "Comparable numbers",
    NEARLY: f"Numbers of a near setting {CLOSE}",
    OTHER: f"Numbers of another setting {MARK}",
}
EMPTY = "–"
LEAST = 0.0005
"""Numbers with a smaller absolute value are written with an exponent, because three decimals would show them as 0.000."""
NUMBER_HEAD = ("row", "quantity", "ours", "seeds", "90 % interval", "published", "difference", "margin", "verdict")
CLAIM_HEAD = (
    *("claim", "left", "", "right", "difference", "seeds", "published"),
    *("p over seeds", "p over texts, by seed", "verdict"),
)
KEPT_ALONE = (
    f"{GONE} Its evidence by text was not kept, so this is what an earlier table read from it (`evidence.json`). What was not "
    "written down then, one-sided tests over texts among it, needs the runs again."
)


def table_page(table: PublishedTable, numbers: pd.DataFrame, claims: pd.DataFrame, origin: dict[str, Any]) -> str:
    """Return the page of one table of results as Markdown, without its pictures."""
    parts = [
        f"# {table.name}: {table.title}",
        f"{table.paper}. Ours: mean ± standard deviation over seeds, on the test split.",
        f"Judged by the rules of {RULES['fixed']}; {origin['older']} of its {_runs(origin['runs'])} are older than these.",
        *([f"Evidence that stopped when its means were known: {'; '.join(origin['stopped'])}."] if origin["stopped"] else []),
        *table.notes,
        *([f"Every run with `{' '.join(origin['settings'])}`."] if origin["settings"] else []),
        f"**{tally(numbers, claims)}**",
        *(f"## {data}\n\n{_corpus(table, numbers, claims, data)}" for data in numbers["data"].unique()),
        _small_print(table, numbers, claims, origin),
    ]
    return "\n\n".join(parts) + "\n"


def _runs(count: int) -> str:
    return f"{count} run{'s' if count != 1 else ''}"


def tally(numbers: pd.DataFrame, claims: pd.DataFrame) -> str:
    """Return a line that says how many claims and numbers of a table got each verdict."""
    sentences = [_counted("Claims", claims, CLAIM_VERDICTS)] if len(claims) else []
    judged = numbers[numbers["verdict"] != ""]
    for likeness, name in HEADINGS.items():
        chosen = judged[judged["setting"] == likeness]
        sentences += [_counted(name, chosen, NUMBER_VERDICTS)] if len(chosen) else []
    return " ".join(sentences) or "Nothing was published to compare with."


def _counted(name: str, rows: pd.DataFrame, verdicts: Sequence[str]) -> str:
    counts = [(verdict, int((rows["verdict"] == verdict).sum())) for verdict in verdicts]
    return f"{name}: {'; '.join(f'{count} {verdict}' for verdict, count in counts if count)}."


def _corpus(table: PublishedTable, numbers: pd.DataFrame, claims: pd.DataFrame, data: str) -> str:
    says_nothing = (numbers["absent"] == UNDEFINED) & (numbers["published"] == "")
    mine = numbers[(numbers["data"] == data) & ~says_nothing]
    own = {source.citation for source in table.sources.values() if source.own}
    said = claims[claims["data"] == data] if len(claims) else claims
    tables = [
        [NUMBER_HEAD, *(_number_line(number, own) for number in mine.to_dict("records"))],
        [CLAIM_HEAD, *(_claim_line(claim) for claim in said.to_dict("records"))],
    ]
    return "\n\n".join(markdown_table(rows) for rows in tables if len(rows) > 1)


def _number_line(number: dict[str, Any], own: Collection[str]) -> list[str]:
    row = number["row"] if math.isnan(number["at"]) else f"{number['row']}, {number['at']:g}"
    mark = OWN if number["source"] in own else MARK_OF.get(number["setting"], "")
    published = f"{number['published']} {mark}".strip()
    return [
        row,
        number["column"],
        (number["absent"] or with_spread(number["ours"], number["std"])) + (f" {GONE}" if number["gone"] else ""),
        str(number["seeds"]),
        EMPTY if math.isnan(number["low"]) else between(number["low"], number["high"]),
        published or EMPTY,
        _signed(number["difference"]),
        EMPTY if math.isnan(number["margin"]) else f"{number['margin']:.3g}",
        number["verdict"] or EMPTY,
    ]


def _claim_line(claim: dict[str, Any]) -> list[str]:
    difference = claim["absent"] or with_spread(claim["difference"], claim["std"], signed=True)
    over_texts = ", ".join(_p_value(test["p"]) for test in claim["tests"])
    if claim["two_sided"]:
        over_texts = f"({', '.join(claim['two_sided'])}: two-sided, by earlier rules, not used)"
    return [
        claim["claim"],
        claim["left"],
        {"less": "<", "greater": ">", "equal": "="}[claim["expect"]],
        claim["right"],
        difference + (f" {GONE}" if claim["gone"] else ""),
        str(claim["seeds"]),
        _signed(claim["published"]),
        EMPTY if math.isnan(claim["p_seeds"]) else _p_value(claim["p_seeds"]),
        over_texts or EMPTY,
        claim["verdict"],
    ]


def _p_value(p: float) -> str:
    if math.isnan(p):
        return "too few texts"
    return f"{p:.2g}" if p >= 1e-4 else "< 0.0001"


def with_spread(mean: float, std: float, signed: bool = False) -> str:
    """Return the mean and its spread as text, ``0.350 ± 0.020`` or ``2.1e-05 ± 3.0e-06``; for one seed only the mean."""
    form = _form(mean)
    text = f"{mean:{'+' if signed else ''}{form}}"
    return text if math.isnan(std) else f"{text} ± {std:{form}}"


def between(low: float, high: float) -> str:
    """Return the bounds of an interval as text, ``0.300 to 0.400`` or ``-1.4e-04 to 3.0e-04``."""
    form = _form(max(abs(low), abs(high)))
    return f"{low:{form}} to {high:{form}}"


def _form(size: float) -> str:
    """Return a number format: three decimals, or an exponent if three decimals would show only zeros."""
    return ".1e" if 0 < abs(size) < LEAST else "z.3f"


def _signed(value: float) -> str:
    return EMPTY if math.isnan(value) else f"{value:+.3f}"


def _small_print(table: PublishedTable, numbers: pd.DataFrame, claims: pd.DataFrame, origin: dict[str, Any]) -> str:
    used = set(numbers["source"])
    cited = [f"* {each.citation}{_setting(each, table)}" for each in table.sources.values() if each.citation in used]
    hours = f"{origin['runs']} runs, {origin['hours']:.2f} hours"
    if origin["untimed"]:
        hours += f" and those of {origin['untimed']} runs that were stopped and taken up"
    any_gone = any(rows["gone"].any() for rows in (numbers, claims) if len(rows))
    versions = ", ".join(f"{name} {'/'.join(values)}" for name, values in origin["versions"].items())
    parts = [
        *(["## Sources", "\n".join(cited)] if cited else []),
        *([KEPT_ALONE] if any_gone else []),
        f"## Rules\n\nFixed on {RULES['fixed']}, knowing {RULES['known']}.\n\n{RULES['numbers']}\n\n{RULES['claims']}",
        *([FAMILIES] if any(claim.family for claim in table.claims) else []),
        "\n".join(map(_column_rule, table.columns.values())),
        f"## Provenance\n\n```\n{origin['command']}\n```",
        f"{hours}; commit {', '.join(origin['commits']) or 'unknown'}; {versions}.",
        stamp(table),
    ]
    return "\n\n".join(parts)


def _column_rule(column: Any) -> str:
    what = f"`{column.key}`" if column.key else f"{column.statistic} of `{column.value}` in {column.table}"
    where = f" where `{column.where}`" if column.where else ""
    along = f", its {column.along} correlation with the values of the sweep" if column.along else ""
    along = f", at the knee of its curve against {column.cost}, by seed" if column.cost else along
    judged = [f"margin {column.margin:g} at most"] if column.margin else []
    judged += [f"no effect at {column.neutral:g}"] if column.neutral else []
    judged += [] if column.judged else ["not judged"]
    return f"* {column.name}: {what}{where}{along}{'; ' if judged else ''}{', '.join(judged)}"


def _setting(source: Publication, table: PublishedTable) -> str:
    if source.own:
        return f" {OWN}: not published, so not judged"
    rows = [row for row in table.rows.values() if source.name in row.published]
    differing = dict.fromkeys(source.likeness_to(row.run) for row in rows)
    return "".join(f" {MARK_OF[likeness.degree]}: {likeness.why}" for likeness in differing if likeness.why)


def provenance(folders: Folders, command: str, settings: Sequence[str] = ()) -> dict[str, Any]:
    """Return the origin of a table: its command, its runs, and the versions of the software.

    Returns:
        ``command``; ``settings``; ``runs``, how many; ``hours`` of the runs that were never stopped; ``untimed``, how many
        runs were stopped; ``older``, how many runs are older than the rules; ``stopped``, the result of ``stopped_early``;
        ``commits`` and ``versions``, each with all values that the runs have.
    """
    runs = sorted({folder for by_seed in folders.values() for folder in by_seed.values()})
    seconds = [run_seconds(RunFolder(folder)) for folder in runs]
    known = [each for each in seconds if each is not None]
    timings = [RunFolder(folder).timing for folder in runs]
    environments = [read_json(timing).get("environment", {}) for timing in timings if timing.is_file()]
    names = sorted({name for environment in environments for name in environment})
    versions = {name: sorted({environment[name] for environment in environments if name in environment}) for name in names}
    return {
        "command": command,
        "settings": list(settings),
        "runs": len(runs),
        "hours": sum(known) / 3600,
        "untimed": len(seconds) - len(known),
        "older": sum(finished_on(folder) < RULES["fixed"] for folder in runs),
        "stopped": stopped_early(runs),
        "commits": versions.pop("commit", []),
        "versions": versions,
    }


def run_seconds(run: RunFolder) -> float | None:
    """Return the total time of a finished run, in seconds times processes; None if unknown.

    A run that was stopped and resumed has only the seconds since its last stop, so its seconds are not known.
    """
    if not (run.summary.is_file() and run.timing.is_file()):
        return None
    timing = read_json(run.timing)
    seconds, processes = timing.get("seconds", {}), timing.get("processes", {})
    if "train" not in seconds or "train since the last stop" in seconds:
        return None
    return sum(value * processes.get(part, 1) for part, value in seconds.items())


def stopped_early(runs: Sequence[Path]) -> list[str]:
    """Return sentences on experiments that stopped early, such as ``E2 in 3 runs, after 256 to 625 of 1,725 texts``."""
    said = []
    for experiment in EXPERIMENTS:
        keys = f"{experiment}/{READ}", f"{experiment}/{ALL}"
        summaries = [summary for folder in runs if keys[0] in (summary := summary_of(folder))]
        if summaries:
            read, of = (_span([summary[key] for summary in summaries]) for key in keys)
            said.append(f"{experiment} in {_runs(len(summaries))}, after {read} of {of} texts")
    return said


def _span(counts: Sequence[float]) -> str:
    least, most = min(counts), max(counts)
    return f"{least:,.0f}" if least == most else f"{least:,.0f} to {most:,.0f}"


def finished_on(folder: Path) -> str:
    """Return the day on which a run was finished, ``YYYY-MM-DD`` in UTC, from the date of its ``summary.json``."""
    return datetime.fromtimestamp(RunFolder(folder).summary.stat().st_mtime, UTC).date().isoformat()
