"""Write the parts of pages that come from the registry, the commands, the configs and pyproject.toml: ``make docs``.

They stand between ``<!-- experiments: … -->`` and ``<!-- end -->``; a test holds them equal to where they come from.
"""

import argparse
import inspect
import io
import itertools
import json
import math
import re
import tomllib
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from importlib import import_module
from pathlib import Path
from unittest.mock import patch

from packaging.requirements import Requirement

from attest.app.cli.fit import choices_help
from attest.app.cli.main import COMMANDS, EXIT_CODES, OF_LIGHTNING, Command, CommandParser, module_of
from attest.core.places import configs_folder
from attest.experiments.experiment_errors import SHIPPED
from attest.experiments.registry import EXPERIMENTS
from attest.experiments.spec import LN2, Column, Spec
from attest.report.run_tables import markdown_table
from attest.runs.choices import file_choices, plain_help
from docs.drawing import HOUSE, house
from docs.projections_drawing import DRAWING, projections

ROOT = Path(__file__).parents[1]
VARIANT = re.compile(r"^moved_|(?<!^right)_without_sink$")
"""A column that says the same as another, of decoders or of a model that returns one number; the page says how."""
TARGET = re.compile(r"^([a-z-]+):.*?## (.*)", re.MULTILINE)
AGAINST = {"low": ", suspicious if low", "high": ", suspicious if high", None: ""}


def evidence_table() -> str:
    """Return the table of what every experiment asks, and how."""
    rows = [(spec.id, f"{spec.question} {spec.does}", spec.source) for spec in EXPERIMENTS.values()]
    return markdown_table([("id", "question", "source"), *rows])


def kinds_table() -> str:
    """Return the table of what each kind of evidence can say, and what it cannot, with the experiments of that kind."""
    specs = EXPERIMENTS.values()
    kinds = dict.fromkeys(spec.says for spec in specs)
    rows = [(of.name, ", ".join(spec.id for spec in specs if spec.says == of), of.can, of.cannot) for of in kinds]
    return markdown_table([("kind of evidence", "experiments", "can say", "cannot say"), *rows, *NO_EXPERIMENTS])


NO_EXPERIMENTS = (
    (
        "Leaving sources out",
        "E18, [`attest sources`](sources.md)",
        "what a decoder's answer loses without one source, and whether attention names this source",
        "which source the answer comes from if two sources say the same",
    ),
    (
        "Known truth",
        "planted texts",
        "whether attention finds the words that decide",
        "anything about a corpus whose truth nobody knows",
    ),
)
"""The kinds of evidence that come from no experiment of a run."""


def columns_reference() -> str:
    """Return a section for each experiment: its columns, and those whose means stand in the report."""
    return "\n\n".join(_section(spec) for spec in EXPERIMENTS.values() if spec.columns)


def _section(spec: Spec) -> str:
    about = f"{spec.question} About {spec.about}. Cost: {spec.cost}."
    of_numbers = "" if spec.of_numbers is None else f"For a model that returns one number: {spec.of_numbers.means}."
    parts = [f"## {spec.id}", about, spec.about_columns, of_numbers, _columns(spec), _measures(spec)]
    return "\n\n".join(part for part in parts if part)


def _columns(spec: Spec) -> str:
    rows = [
        (
            f"`{each.name}`",
            each.type,
            ", ".join(part for part in (_range(each), each.unit) if part),
            f"{each.only} only: {each.means}" if each.only else each.means,
        )
        for each in spec.columns
        if not VARIANT.search(each.name)
    ]
    table = markdown_table([("column", "type", "values", "meaning"), *rows])
    also = ", ".join(f"`{column.name}`" for column in spec.columns if VARIANT.search(column.name))
    return f"{table}\n\nAlso: {also}." if also else table


def _range(column: Column) -> str:
    if column.range is None:
        return ""
    low, high = (f"{end:.3f}" if abs(end) == LN2 else f"{end:g}" for end in column.range)
    if math.isinf(column.range[0]):
        return "any"
    return f"at least {low}" if math.isinf(column.range[1]) else f"[{low}, {high}]"


def _measures(spec: Spec) -> str:
    shown = (measure for measure in spec.measures if not VARIANT.search(measure.name))
    rows = [f"`{measure.name}` ({measure.title}{AGAINST[measure.suspicious]})" for measure in shown]
    return f"In the report: {'; '.join(rows)}." if rows else ""


def judged_table() -> str:
    """Return the table of the constructed networks that each experiment misses and falsely accuses."""
    found = json.loads(SHIPPED.read_text(encoding="utf-8"))
    judged = ((name, found[name]) for name in EXPERIMENTS if name in found)
    rows = [(name, ", ".join(of["misses"]), ", ".join(of["accuses"])) for name, of in judged]
    return markdown_table([("id", "misses", "accuses"), *rows])


def commands_reference() -> str:
    """Return a section for each command: what its help says, and its options."""
    return "\n\n".join(_command(name, command) for name, command in COMMANDS.items())


def _command(name: str, command: Command) -> str:
    if name in OF_LIGHTNING and name != "fit":
        does = f"{command.does[0].upper()}{command.does[1:]}"
        return f"## attest {name}\n\n{does}. `attest {name}` takes the same arguments as `attest fit`."
    said = choices_help(name) if name == "fit" else plain_help(inspect.getdoc(import_module(module_of(name))))
    parts = [f"## attest {name}", f"```text\n{said.strip()}\n```", _options(name)]
    return "\n\n".join(part for part in parts if part)


def exit_codes_reference() -> str:
    """Return the table of what each exit code means, as ``attest --help`` says it."""
    return markdown_table([("exit code", "meaning"), *((str(code), means) for code, means in EXIT_CODES.items())])


def targets_reference() -> str:
    """Return the table of what can be typed after ``make``, as ``make help`` says it."""
    rows = TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8"))
    said = ((f"`make {name}`", does.replace("<", "&lt;")) for name, does in rows)
    return markdown_table([("target", "what it does"), *said])


def parsers_of(command: str) -> list[argparse.ArgumentParser]:
    """Return the parser whose help a command prints; empty if the command has none of its own."""
    seen: list[argparse.ArgumentParser] = []
    keep = patch.object(CommandParser, "print_help", lambda parser, file=None: seen.append(parser))
    with keep, suppress(SystemExit), redirect_stdout(io.StringIO()):
        if command not in OF_LIGHTNING:
            import_module(module_of(command)).main(["--help"])
    return seen


def _options(command: str) -> str:
    actions = [action for parser in parsers_of(command) for action in parser._actions if action.dest != "help"]
    rows = [(f"`{', '.join(each.option_strings) or each.dest}`", (each.help or "").replace("%%", "%")) for each in actions]
    return markdown_table([("option", "meaning"), *rows]) if rows else ""


def choices_reference() -> str:
    """Return a section for each choice: its values, and the comment at the top of each file."""
    folders = sorted(folder for folder in configs_folder().iterdir() if folder.name in SHOWN)
    return "\n\n".join(_choice(folder) for folder in folders)


SHOWN = {choice.lower() for choice in file_choices()}


def _choice(folder: Path) -> str:
    rows = [(f"`{file.stem}`", _said_at_the_top(file)) for file in sorted(folder.glob("*.yaml"))]
    return f"## {folder.name.upper()}\n\n{markdown_table([('value', 'what it is'), *rows])}"


def _said_at_the_top(file: Path) -> str:
    """Return the comment with which a file begins, as one line, without the commands and numbers at its end."""
    lines = itertools.takewhile(
        lambda line: line.startswith("#") and not line.startswith("# Command:"), file.read_text(encoding="utf-8").splitlines()
    )
    return " ".join(line.lstrip("# ") for line in lines)


def versions_reference() -> str:
    """Return the table of Python and of each package: what is accepted, what was tried lowest, and what last."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lowest, last = pinned("constraints-lowest.txt"), pinned("constraints.txt")
    needs = {"": project["dependencies"]} | {extra: project["optional-dependencies"][extra] for extra in EXTRAS}
    rows = [
        (f"`{each.name}`", _in_order(each), *(of.get(each.name, "–") for of in (lowest, last)), f"`{extra}`" if extra else "")
        for extra, listed in needs.items()
        for each in map(Requirement, listed)
        if each.name != project["name"]
    ]
    head = ("package", "accepted", "tried lowest", "tried last", "extra")
    return markdown_table([head, ("Python", project["requires-python"], "", "", ""), *rows])


def pinned(name: str) -> dict[str, str]:
    """Return the version of each package in a file of constraints, by its name in small letters."""
    pins = re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {package.lower(): version for package, version in pins}


EXTRAS = ("transformers", "tensorboard", "dashboard", "reproduce")
"""The extras of people who use Attest; the others are for those who work on it."""


def _in_order(needed: Requirement) -> str:
    return ", ".join(sorted(map(str, needed.specifier), reverse=True)).replace("<", "&lt;")


PARTS: dict[str, Callable[[], str]] = {
    "table": evidence_table,
    "kinds": kinds_table,
    "columns": columns_reference,
    "judges": judged_table,
    "commands": commands_reference,
    "targets": targets_reference,
    "exits": exit_codes_reference,
    "choices": choices_reference,
    "versions": versions_reference,
}
PAGES = ("docs/evidence.md", "docs/evidence-columns.md", "docs/commands.md", "docs/configs.md", "docs/versions.md")
GENERATED = re.compile(r"(<!-- experiments: (\w+) -->\n).*?\n?(<!-- end -->)", re.DOTALL)


def generated(page: str) -> str:
    """Return a page with its generated parts written anew."""
    return GENERATED.sub(lambda match: f"{match[1]}{PARTS[match[2]]()}\n{match[3]}", page)


if __name__ == "__main__":
    for name in PAGES:
        file = ROOT / name
        file.write_text(generated(file.read_text(encoding="utf-8")), encoding="utf-8")
        print(file)
    HOUSE.write_text(house(), encoding="utf-8")
    DRAWING.write_text(projections(), encoding="utf-8")
