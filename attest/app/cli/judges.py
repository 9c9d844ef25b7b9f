"""``attest judges``: which experiment can tell right attention from wrong.

    attest judges
    attest judges SMOKE=1 LOGGER=wandb
    attest judges --defendant mine.py:Name --results /tmp/mine

Runs every experiment that gives one number for each text, on networks whose attention is right or wrong by construction.
configs/judges/constructed.yaml lists the tests and their directions. A defendant of your own takes a rule and offers
encode, score, project, decode, forward, and carrying_states(tokens, mask); it names its rules in ``rules``.
From Python, attest.judge asks a metric of your own.
"""

import hashlib
import importlib.util
from pathlib import Path
from typing import Any

import torch
import yaml

from attest.app.api.judging import STATED
from attest.app.cli.main import CommandParser, require_place
from attest.core.errors import AttestError, unknown_choice
from attest.experiments.judges.judging import SHIPPED, findings, hear, judge, with_added
from attest.report.judges import write_judges
from attest.runs.choices import take_words
from attest.runs.folder import RunFolder, write_json
from attest.runs.versions import last_commit

CHECKOUT = Path("configs/judges/constructed.yaml")
"""The same file in a checkout. A command in a checkout writes its results and the shipped findings anew."""
WORDS = ("SMOKE", "LOGGER")
LOGGERS = ("none", "wandb")
OFFERED = ("encode", "score", "project", "decode", "forward", "carrying_states")
SMALLER = {"rules": ["token", "conjunction"], "seeds": [0], "texts": 20, "layered_texts": 4}


def main(arguments: list[str]) -> int:
    """Run the command and return the exit code."""
    parser = CommandParser("attest judges", __doc__)
    parser.add_argument("--defendant", help="file.py:Name, a defendant of your own")
    parser.add_argument(
        "--results",
        type=Path,
        help="the folder to write into; by default runs/judges, or docs/results of a checkout if all is run",
    )
    words, rest = take_words(arguments)
    if unknown := [f"{name}={value}" for name, value in words.typed.items() if name not in WORDS]:
        raise AttestError(f"{unknown[0]} was typed; expected {' or '.join(WORDS)}. Type for example: attest judges SMOKE=1")
    torch.set_num_threads(1)  # networks are small: threads would wait for one another
    given, smoke, logger = parser.parse_args(rest), words.flag("SMOKE"), words.text("LOGGER", "none")
    if logger not in LOGGERS:
        raise unknown_choice("LOGGER", logger, LOGGERS, "attest judges LOGGER={}")
    stated = with_added(yaml.safe_load(STATED.read_text(encoding="utf-8"))) | (SMALLER if smoke else {})
    own = _own(given.defendant, stated["rules"]) if given.defendant else {}
    shipped = in_checkout() and not smoke and not own and given.results is None
    folder = given.results or Path("docs/results" if shipped else "runs/judges")
    require_place(folder)
    with RunFolder(folder).claimed():
        judged = judge(hear(stated, own), stated)
        said = write_judges(folder, judged, stated, stamp(STATED, smoke, [*own]))
        tests = {name: test for family in stated["tests"].values() for name, test in family.items()}
        found = findings(judged, {name: test["experiment"] for name, test in tests.items()}, stated["sees"])
        write_json(SHIPPED if shipped else folder / "findings.json", found)
        print(f"{said}\nJudges:     {folder / 'judges.html'}", flush=True)
        if logger == "wandb":
            from attest.report.tracking.wandb_report import log_judges  # W&B takes seconds

            print(f"W&B:        {log_judges(folder, judged)}", flush=True)
    return 0


def in_checkout() -> bool:
    """Return whether the command was typed in the checkout that it comes from, whose results it may write anew."""
    return CHECKOUT.resolve() == STATED.resolve()


def _own(typed: str, tried: list[str]) -> dict[str, Any]:
    """Return the class of a defendant of the user's own, by its name."""
    name = typed.partition(":")[2]
    made = _defined(typed)
    if not hasattr(made, "rules"):
        raise AttestError(
            f"{name} has no rules; expected a tuple of rules that it follows. Write for example: rules = ('token',)"
        )
    if lacking := [each for each in OFFERED if not callable(getattr(made, each, None))]:
        raise AttestError(
            f"{name} has no {' and no '.join(lacking)}; expected a class with {', '.join(OFFERED)}. "
            f"Write for example: class {name}(attest.experiments.judges.defendants.Defendant)"
        )
    if isinstance(made.rules, str) or not set(made.rules) & set(tried):
        raise AttestError(
            f"{name} follows the rules {made.rules!r}, and none of them is tried here; expected a tuple of some of "
            f"{', '.join(tried)}. Write for example: rules = ('{tried[0]}',)"
        )
    return {name: made}


def stamp(file: Path, smoke: bool, own: list[str], what: str = "Defendants, tests and directions") -> str:
    """Return a sentence that identifies the list of defendants: the hash of its file and the last commit that changed it."""
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    told = f"{what} are stated in configs/judges/{file.name}, sha256 {sha256[:16]}"
    told += f", {last_commit(file) or 'of no commit that could be found'}."
    told += " This is a smaller try, not what was stated." if smoke else ""
    return told + (f" Added by hand: {', '.join(own)}." if own else "")


EXAMPLE = "Type for example: --defendant mine.py:Name"


def _defined(typed: str) -> Any:
    """Return the object that a Python file of the user defines under a name, typed as ``file.py:name``."""
    path, _, name = typed.partition(":")
    if not name or not Path(path).is_file():
        raise AttestError(f"--defendant {typed} was typed; expected a file and a name in it. {EXAMPLE}")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise AttestError(f"{path} is not a Python file; expected one that ends in .py. {EXAMPLE}")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the file is the user's: whatever it raises is told in a sentence
        raise AttestError(
            f"{path} cannot be read: {type(error).__name__}: {error}; expected a file that Python can import. "
            f"Try for example: python {path}"
        ) from error
    if not hasattr(module, name):
        raise AttestError(f"{path} has no {name}; expected a name that it defines. {EXAMPLE}")
    return getattr(module, name)
