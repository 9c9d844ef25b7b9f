"""The published tables as data: ``configs/tables/<table>.yaml`` states runs, measured quantities and published numbers.

Each file holds one table or figure of a paper. A row is a run, a column is a measured quantity, a source is a publication of
numbers, and a claim is what the paper says of two of its numbers. Start at ``read_published``.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from attest.core.bounded_yaml import bounded
from attest.core.errors import AttestError, unknown_choice
from attest.core.places import configs_folder
from attest.core.spelled import spelled
from attest.runs.expression import parsed

Place = tuple[str, str, float | None]
"""Where a number stands in a published table: the row, the corpus, and the value of the row's swept setting, such as λ; None
if the row sweeps nothing."""
EXPECTATIONS = ("less", "greater", "equal")
AS_TYPED: Any = yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader
"""The YAML loader that leaves all values as text, so that the number 0.900 keeps its last digits."""
TRUTHS = {"true": True, "false": False}
NUMBER = re.compile(r"(-?\d*\.?\d+)(?:\s*±\s*(\d*\.?\d+))?")
CHOICE, VALUE = re.compile(r"(?!FORCE|SEED|TRAINER|LOGGER)[A-Z]+|command"), re.compile(r"\w(?:[\w:+-]|\.(?!\.))*")
"""Patterns for the names and the values of the choices that a row of a published table may state, such as ``MODEL`` and
``bilstm``. Choices that say where a run is computed or stored, or that delete a run, do not match."""
OPTION = re.compile(r"--data\.init_args\.\w+=.*|--(data|model\.init_args|trainer)\.[\w.]+=(-?\d[\d.e-]*|true|false|null)")
"""Matches the options that a row of a published table may set: any option of the data; of the model and the Trainer only those
that are set to numbers or truth values. So none names a class or an output folder."""


@dataclass(frozen=True)
class Quoted:
    """A published number, with its spread if the publication states one."""

    value: float
    spread: float | None
    text: str

    @classmethod
    def parse(cls, text: str) -> "Quoted":
        """Return the published number in a text such as ``0.35`` or ``0.35 ± 0.21``."""
        match = NUMBER.fullmatch(text)
        if match is None:
            raise AttestError(f"{text!r} is not a number such as 0.35 or 0.35 ± 0.21")
        return cls(float(match[1]), None if match[2] is None else float(match[2]), text)


CORRELATIONS, KNEE = ("pearson", "kendall"), "knee against "
"""Two ways to sum up a sweep in one number of a published table: the correlation of a quantity with the swept values, or the
value of the quantity at the knee of its curve, drawn against the column whose name follows."""
SAME_SETTING, NEARLY, OTHER = "the same", "near", "another"
"""How alike the setting of a published number and that of a run are: the same, nearly (only the pretrained word vectors
differ), or another one."""


@dataclass(frozen=True)
class Likeness:
    """The degree of similarity between a published setting and the setting of our run, with the reason."""

    degree: str = SAME_SETTING
    why: str = ""


@dataclass(frozen=True)
class Publication:
    """A publication, and how its setting differs from the setting of our runs.

    Args:
        why: how the published setting differs from ours, so that the numbers cannot be compared; empty if they can.
        own: whether we ran the authors' code and nobody has published the numbers; they are shown without a verdict.
        embeddings: the pretrained vectors of the publication, by their name in ``EMBEDDINGS``; empty if there are none, or if
            ``why`` names them.
    """

    name: str
    cite: str
    why: str = ""
    memory: bool = False
    own: bool = False
    embeddings: str = ""

    def likeness_to(self, run: Mapping[str, str]) -> Likeness:
        """Return how similar the published setting is to the setting of a run."""
        ours = run.get("EMBEDDINGS", "random").partition(":")[0]
        if not self.embeddings or ours == self.embeddings:
            return Likeness(OTHER, self.why) if self.why else Likeness()
        there = f"pretrained {self.embeddings} embeddings there".replace("pretrained pretrained", "pretrained")
        here = "randomly initialised ones here" if ours == "random" else f"{ours} here"
        near = ours != "random" and not self.why
        return Likeness(NEARLY if near else OTHER, "; ".join(filter(None, (self.why, f"{there}, {here}"))))

    @property
    def citation(self) -> str:
        """Return the citation of the publication, with a note if its numbers are quoted from memory."""
        return f"{self.cite} [from memory]" if self.memory else self.cite


@dataclass(frozen=True)
class PublishedColumn:
    """A column of a published table: a measured quantity, and how it is compared with published numbers.

    Args:
        key: the key of the quantity in ``summary.json``; empty if ``table`` is given.
        value: an expression over the columns of that table, as ``attest.runs.expression`` reads it.
        where: an expression that is true for the instances to use; empty for all instances.
        margin: the largest distance that counts as near a published number; see ``attest.replication.comparison.margin``.
        neutral: the value that means no effect: 0 for a correlation or a distance, chance for an accuracy.
        along: ``pearson`` or ``kendall`` to correlate the quantity with the values of the row's sweep, or
            ``knee against <column>`` for the quantity at the knee of its curve, where the other column is the cost; empty for
            the quantity itself.
    """

    name: str
    key: str = ""
    table: str = ""
    value: str = ""
    where: str = ""
    statistic: Literal["mean", "median", "std"] = "mean"
    margin: float = 0.0
    neutral: float = 0.0
    judged: bool = True
    along: str = ""

    @property
    def cost(self) -> str:
        """Return the name of the column against which the knee of this column's curve is found; empty if no knee is."""
        return self.along.removeprefix(KNEE) if self.along.startswith(KNEE) else ""


@dataclass(frozen=True)
class ParameterSweep:
    """A choice with several values, such as λ; a published row needs one run for each value.

    The choice belongs to the row's dependent run, or to the base run if the row has no dependent run.
    """

    choice: str
    values: tuple[float, ...]
    form: str = "{}"
    label: str = "λ"

    def typed(self, value: float) -> dict[str, str]:
        """Return the choice for one value of the sweep, as a user types it."""
        return {self.choice: self.form.format(f"{value:g}")}


@dataclass(frozen=True)
class PublishedRow:
    """A row of a published table, with the runs that compute its numbers on one or more corpora.

    Args:
        then: ``command`` and choices of the run that depends on the base run; empty if there is no dependent run.
        sweep: the choice that takes several values, one run for each value; None if every choice has a single value.
    """

    name: str
    run: Mapping[str, str]
    data: tuple[str, ...]
    then: Mapping[str, str] = field(default_factory=dict)
    sweep: ParameterSweep | None = None
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    published: Mapping[str, Mapping[str, Mapping[str, Quoted]]] = field(default_factory=dict)


@dataclass(frozen=True)
class PublishedClaim:
    """A claim of a paper about two of its numbers.

    Args:
        expect: ``less``, ``greater`` or ``equal``: the left number is less than the right one, and so on. Equal numbers differ
            by less than the margin of the left number's column.
        family: the name that this claim shares with those that are judged together with it; empty if it is judged alone.
    """

    that: str
    expect: str
    left: tuple[str, str]
    right: tuple[str, str]
    data: tuple[str, ...]
    paired: bool = True
    family: str = ""


@dataclass(frozen=True)
class TableFigure:
    """A figure that is drawn for a published table."""

    draw: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PublishedTable:
    """A published table or figure, with the runs that reproduce it."""

    name: str
    title: str
    paper: str
    sources: Mapping[str, Publication]
    columns: Mapping[str, PublishedColumn]
    rows: Mapping[str, PublishedRow]
    claims: tuple[PublishedClaim, ...]
    drawings: tuple[TableFigure, ...]
    notes: tuple[str, ...]

    def judged_together(self, claim: PublishedClaim, data: str) -> int:
        """Return how many claims are judged together with a claim on a corpus, itself included."""
        return sum(other.family == claim.family and data in other.data for other in self.claims) if claim.family else 1


def shorten_sweeps(experiment: PublishedTable, but: Container[str] = ()) -> PublishedTable:
    """Return the published table with at most three values in each sweep, for a quick test of its runs.

    Sweeps of the choices in ``but`` keep all their values.
    """
    rows = dict(experiment.rows)
    for name, row in experiment.rows.items():
        if row.sweep is not None and row.sweep.choice not in but:
            values = row.sweep.values
            chosen = tuple(dict.fromkeys((values[0], values[len(values) // 2], values[-1])))
            rows[name] = replace(row, sweep=replace(row.sweep, values=chosen))
    return replace(experiment, rows=rows)


def table_names() -> list[str]:
    return sorted(path.stem for path in (configs_folder() / "tables").glob("*.yaml"))


def table_file(name: str) -> Path:
    """Return the YAML file of a shipped table, or the user's own file if ``name`` ends with ``.yaml``."""
    file = Path(name) if name.endswith(".yaml") else configs_folder() / "tables" / f"{name}.yaml"
    if not file.is_file():
        raise unknown_choice("TABLE", name, ["all", *table_names()], spelled("reproduce", "TABLE={}"))
    return file


@cache
def read_published(file: Path) -> PublishedTable:
    """Return the published table that a YAML file describes; the name of the file is the name of the table."""
    try:
        as_typed = yaml.load(bounded(file.read_text(encoding="utf-8")), AS_TYPED)  # 0.900 keeps its digits
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise AttestError(
            f"{file} cannot be read as YAML ({reason}); expected the format that “Your own table” in the documentation "
            "describes."
        ) from error
    return parse_published(file.stem, as_typed, file)


def parse_published(name: str, given: Mapping[str, Any], file: Path) -> PublishedTable:
    """Return the published table that the content of a YAML file describes; all scalars are strings."""
    try:
        sources = {key: Publication(key, **_with_truths(of, "memory", "own")) for key, of in given.get("sources", {}).items()}
        columns = {key: _parse_column(key, of) for key, of in given["columns"].items()}
        _require_known("column", [column.cost for column in columns.values() if column.cost], columns)
        corpora, notes = tuple(given["data"]), tuple(given.get("notes", ()))
        rows = {row["name"]: _parse_row(row, corpora, sources, columns) for row in given["rows"]}
        stated = [(claim, "") for claim in given.get("claims", ())]
        stated += [(claim, of["name"]) for of in given.get("families", ()) for claim in _claims_of_family(of)]
        claims = tuple(_parse_claim(claim, corpora, rows, columns, family) for claim, family in stated)
        drawings = tuple(TableFigure(of.pop("draw"), of) for of in map(dict, given.get("figures", ())))
        return PublishedTable(name, given["title"], given["paper"], sources, columns, rows, claims, drawings, notes)
    except (TypeError, KeyError, ValueError, AttributeError, AttestError) as error:
        raise AttestError(
            f"the table {file} is not valid: {error}; expected the format that “Your own table” in the documentation "
            "describes."
        ) from error


def _parse_column(name: str, given: Mapping[str, str]) -> PublishedColumn:
    numbers = {key: float(given[key]) for key in ("margin", "neutral") if key in given}
    for expression in filter(None, (given.get("value"), given.get("where"))):
        parsed(expression)
    _require_harmless("the table of evidence", VALUE, [given.get("table") or "none"])
    along = given.get("along", CORRELATIONS[0])
    if along not in CORRELATIONS and not along.startswith(KNEE):
        raise AttestError(f"the key `along` has the value {along!r}, not one of {', '.join(CORRELATIONS)}, {KNEE}<column>")
    return PublishedColumn(name, **_with_truths(given, "judged") | numbers)


def _with_truths(given: Mapping[str, str], *names: str) -> dict[str, Any]:
    return dict(given) | {name: TRUTHS[given[name]] for name in names if name in given}


def _parse_row(
    given: Mapping[str, Any], corpora: tuple[str, ...], sources: Mapping[str, Publication], columns: Mapping
) -> PublishedRow:
    rest = dict(given)
    name, run, then = rest.pop("name"), rest.pop("run"), rest.pop("then", {})
    sweep = rest.pop("sweep", None)
    data = tuple(rest.pop("data", corpora))
    options = {corpus: tuple(typed) for corpus, typed in rest.pop("options", {}).items()}
    chosen = {**run, **then}
    if sweep is not None:
        chosen[sweep["choice"]] = sweep.get("form", "{}").replace("{}", "0")
    _require_harmless("a choice", CHOICE, chosen)
    _require_harmless("a value", VALUE, [*data, *(value for choice, value in chosen.items() if choice != "EMBEDDINGS")])
    _require_harmless("an option of a table", OPTION, [option for typed in options.values() for option in typed])
    published: dict[str, dict[str, dict[str, Quoted]]] = {}
    for source in [source for source in sources if source in rest]:
        for corpus, numbers in rest.pop(source).items():
            _require_known("column", numbers, columns)
            quoted = {column: Quoted.parse(number) for column, number in numbers.items()}
            published.setdefault(source, {})[corpus] = quoted
    _require_nothing_left(f"row {name!r}", rest)
    swept = None if sweep is None else ParameterSweep(**{**sweep, "values": tuple(map(float, sweep["values"]))})
    return PublishedRow(name, run, data, then, swept, options, published)


def _claims_of_family(given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the claims of a family as if each were written out: one for each of its pairs of rows."""
    shared = {key: value for key, value in given.items() if key not in ("name", "rows")}
    for left, right in given["rows"]:
        that = given["that"].replace("{left}", left).replace("{right}", right)
        yield shared | {"that": that, "rows": [left, right]}


def _parse_claim(
    given: Mapping[str, Any],
    corpora: tuple[str, ...],
    rows: Mapping[str, PublishedRow],
    columns: Mapping[str, PublishedColumn],
    family: str,
) -> PublishedClaim:
    rest = dict(given)
    that, expect = rest.pop("that"), rest.pop("expect")
    if expect not in EXPECTATIONS:
        raise AttestError(f"the key `expect` has the value {expect!r}, not one of {', '.join(EXPECTATIONS)}")
    sides_rows = rest.pop("rows", None) or [rest.pop("row")] * 2
    sides_columns = rest.pop("columns", None) or [rest.pop("column")] * 2
    _require_known("row", sides_rows, rows)
    _require_known("column", sides_columns, columns)
    data = tuple(rest.pop("data", [corpus for corpus in corpora if all(corpus in rows[row].data for row in sides_rows)]))
    paired = TRUTHS[rest.pop("paired", "true")]
    _require_nothing_left(f"claim {that!r}", rest)
    left, right = zip(sides_rows, sides_columns, strict=True)
    return PublishedClaim(that, expect, left, right, data, paired, family)


def _require_known(what: str, given: Any, known: Any) -> None:
    if strange := [name for name in given if name not in known]:
        raise AttestError(f"{what} {strange[0]!r} is not declared")


def _require_harmless(what: str, allowed: re.Pattern[str], given: Iterable[str]) -> None:
    # the file may be a stranger's, and must not delete, write elsewhere or run code
    if strange := [each for each in given if not allowed.fullmatch(each)]:
        raise AttestError(
            f"{strange[0]!r} is not allowed as {what}, because a table must not name a class, a place to write to or FORCE"
        )


def _require_nothing_left(what: str, rest: Mapping[str, Any]) -> None:
    if rest:
        raise AttestError(f"{what} has an unknown key {next(iter(rest))!r}")


def every_published_number() -> Iterator[tuple[PublishedRow, str, PublishedColumn, Publication, Quoted]]:
    """Yield the published numbers of all shipped tables, each with its row, corpus, column and source."""
    for experiment in map(read_published, map(table_file, table_names())):
        for row in experiment.rows.values():
            for source, by_corpus in row.published.items():
                for corpus, numbers in by_corpus.items():
                    for column, quoted in numbers.items():
                        yield row, corpus, experiment.columns[column], experiment.sources[source], quoted
