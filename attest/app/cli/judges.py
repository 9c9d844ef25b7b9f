"""``attest judges``: which experiment can tell right attention from wrong.

    attest judges
    attest judges SMOKE=1 LOGGER=wandb
    attest judges TRAINED=1
    attest judges VERDICT=1
    attest judges --defendant mine.py:Name --results /tmp/mine
    attest judges --metric mine.py:name --of tokens --larger right

Runs every experiment that gives one number for each text, on networks whose attention is right or wrong by construction.
configs/judges/constructed.yaml lists the tests and their directions. A defendant of your own takes a rule and offers
encode, score, project, decode, forward, and carrying_states(tokens, mask); it names its rules in ``rules``.
A metric of your own is a function of (network, batch, attention) to one number for each text, as attest.judge takes it.

TRAINED=1 trains networks on the rules of configs/judges/trained.yaml, alone and in pairs, and runs the same tests on them.
It compares the two rankings of the tests, so run the constructed networks first.

VERDICT=1 tries the population of configs/judges/verdict.yaml, makes the rule of the verdict on a part of it, and writes
how often the rule errs on the rest. VERDICT=again makes the rule from the tried texts in the folder, without trying anew.
"""

import hashlib
import importlib.util
from functools import partial
from pathlib import Path
from typing import Any

import torch
import yaml
from rich.console import Console

from attest.app.api.judging import STATED, stated_with, test_of
from attest.app.cli.main import CommandParser, require_place
from attest.core.errors import AttestError, unknown_choice
from attest.core.measures.numbers import duration
from attest.core.memory import cores
from attest.experiments.judges.judging import SHIPPED, findings, hear, judge
from attest.experiments.judges.population import recipes
from attest.report.judges import TRAINED as TRAINED_PAGES
from attest.report.judges import write_judges, write_trained
from attest.runs.choices import take_words
from attest.runs.folder import RunFolder, read_json, write_json, write_table
from attest.runs.versions import last_commit

TRAINED = STATED.with_name("trained.yaml")
CHECKOUT = Path("configs/judges/constructed.yaml")
"""The same file in a checkout. A command in a checkout writes its results and the shipped findings anew."""
SECONDS = 7
"""About how long one core trains and tries one network."""
POPULATION = STATED.with_name("verdict.yaml")
TEXTS = "verdict-texts.parquet"
"""The evidence on each text of the population, with the truth about it."""
WORDS = ("SMOKE", "LOGGER", "TRAINED", "VERDICT")
LOGGERS = ("none", "wandb")
OFFERED = ("encode", "score", "project", "decode", "forward", "carrying_states")
SMALLER_TRAINED = {
    "rules": ["token"],
    "networks": ["average", "transformer"],
    "guided": ["average"],
    "projections": ["softmax"],
    "seeds": [0],
    "texts": 12,
    "layered_texts": 4,
}
SMALLER = {"rules": ["token", "conjunction"], "seeds": [0], "texts": 20, "layered_texts": 4}


def main(arguments: list[str]) -> int:
    """Run the command and return the exit code."""
    parser = CommandParser("attest judges", __doc__)
    parser.add_argument("--defendant", help="file.py:Name, a defendant of your own")
    parser.add_argument("--metric", help="file.py:name, a metric of your own, judged beside all tests")
    parser.add_argument(
        "--of", choices=("tokens", "states"), default="tokens", help="what the metric speaks of; by default tokens"
    )
    parser.add_argument(
        "--larger", choices=("right", "wrong"), default="right", help="what a larger number speaks for; by default right"
    )
    parser.add_argument(
        "--results",
        type=Path,
        help="the folder to write into; by default runs/judges, or docs/results of a checkout if all is run",
    )
    words, rest = take_words(arguments)
    if unknown := [f"{name}={value}" for name, value in words.typed.items() if name not in WORDS]:
        raise AttestError(f"{unknown[0]} was typed; expected {' or '.join(WORDS)}. Type for example: attest judges SMOKE=1")
    torch.set_num_threads(1)  # networks are small: threads would wait for one another
    given, smoke = parser.parse_args(rest), words.flag("SMOKE")
    if given.metric and words.flag("TRAINED"):
        raise AttestError("--metric was typed with TRAINED=1; expected constructed networks, whose truth is known.")
    if words.text("LOGGER", "none") not in LOGGERS:
        raise unknown_choice("LOGGER", words.text("LOGGER"), LOGGERS, "attest judges LOGGER={}")
    if words.text("VERDICT", ""):
        return _make_verdict(given.results, smoke, words.text("VERDICT", "") == "again")
    metrics = {}
    if given.metric:
        name = given.metric.partition(":")[2]
        metrics[name] = test_of(_defined(given.metric, "--metric"), given.larger, given.of)
    stated = stated_with(metrics) | (SMALLER if smoke else {})
    own = _own(given.defendant, stated["rules"]) if given.defendant else {}
    shipped = not smoke and not own and not metrics and given.results is None and CHECKOUT.resolve() == STATED.resolve()
    folder = given.results or Path("docs/results" if shipped else "runs/judges")
    require_place(folder)
    judging = _try_trained if words.flag("TRAINED") else partial(_try_constructed, own=own, shipped=shipped)
    with RunFolder(folder).claimed():
        return judging(folder, stated, smoke, words.text("LOGGER", "none"))


def _try_constructed(
    folder: Path, stated: dict[str, Any], smoke: bool, logger: str, own: dict[str, Any], shipped: bool
) -> int:
    """Judge the tests on constructed defendants, which are attention weights of known quality."""
    judged = judge(hear(stated, own), stated)
    said = write_judges(folder, judged, stated, _stamp(STATED, smoke, [*own, *_metrics_of(stated)]))
    experiments = {name: test.get("experiment", name) for tests in stated["tests"].values() for name, test in tests.items()}
    found = findings(judged, experiments, stated["sees"])
    write_json(SHIPPED if shipped else folder / "findings.json", found)
    print(f"{said}\nJudges:     {folder / 'judges.html'}", flush=True)
    if logger == "wandb":
        from attest.report.tracking.wandb_report import log_judges  # W&B takes seconds

        print(f"W&B:        {log_judges(folder, judged)}", flush=True)
    return 0


SMALLER_POPULATION = {
    "values": ["words", "everywhere", "end"],
    "looks": ["words", "decoy", "all"],
    "kinds": {"pooled": 1, "layered": 1, "decoder": 0},
    "texts": {"pooled": 8, "layered": 6, "decoder": 6},
    "rules": ["token"],
    "gain_texts": 16,
}


def _make_verdict(results: Path | None, smoke: bool, again: bool) -> int:
    """Make the rule of the verdict, and write it, its errors and the tried texts."""
    import pandas as pd

    from attest.app import verdict_made
    from attest.experiments.verdict import SHIPPED as RULE
    from attest.report.verdict_page import write_page

    shipped = not smoke and results is None and CHECKOUT.resolve() == STATED.resolve()
    folder = results or Path("docs/results" if shipped else "runs/judges")
    require_place(folder)
    stated = yaml.safe_load(POPULATION.read_text(encoding="utf-8"))
    if smoke:
        stated |= SMALLER_POPULATION
        stated["added"] |= {"values": ["last"], "looks": [], "kinds": SMALLER_POPULATION["kinds"]}
        stated["trained"] |= {"trained": []}
    target = RULE if shipped else folder / "verdict.json"
    with RunFolder(folder).claimed():
        if again:
            rows, left_out = pd.read_parquet(folder / TEXTS), read_json(target)["left_out"]
        else:
            rows, left_out = _tried(stated, verdict_made)
            write_table(folder / TEXTS, rows)
        made = verdict_made.made(rows, stated)
        made |= {
            "left_out": dict(left_out),
            "stamp": _stamp(POPULATION, smoke, [], "Mechanisms, split, features and endpoints"),
        }
        write_json(target, made)
        print(write_page(folder, made, verdict_made.strangers(rows, made["rules"], stated), left_out))
        print(f"Verdict:    {folder / 'verdict.md'}", flush=True)
    return 0


def _tried(stated: dict[str, Any], verdict_made: Any) -> tuple[Any, dict[str, int]]:
    """Return the evidence on all networks of the population, one row a text, and how many do not count, by reason."""
    import pandas as pd
    from rich.progress import track

    trained = yaml.safe_load(TRAINED.read_text(encoding="utf-8"))
    console, parts = Console(stderr=True), []
    reasons: dict[str, int] = {}
    for source, found, count in (
        ("constructed", verdict_made.constructed_rows(stated, cores()), len(list(recipes(stated)))),
        ("trained", verdict_made.trained_rows(stated, trained, cores()), len(verdict_made.trained_asked(stated))),
    ):
        shown = track(found, f"{source}:", count, console=console, disable=not console.is_terminal, transient=True)
        rows, refused = verdict_made.joined(list(shown), source)
        parts.append(rows)
        reasons |= {f"{source}: {reason}": number for reason, number in refused.items()}
    return pd.concat(parts, ignore_index=True), reasons


def _metrics_of(stated: dict[str, Any]) -> list[str]:
    return [name for name, test in stated["tests"]["pooled"].items() if "metric" in test]


def _try_trained(folder: Path, constructed: dict[str, Any], smoke: bool, logger: str) -> int:
    """Train networks, judge the tests on them, and compare the result with that on constructed networks in the folder."""
    import pandas as pd
    from rich.progress import track

    from attest.app.judged import all_heard, asked_for

    if not (folder / "judges.parquet").is_file():
        raise AttestError(
            f"{folder / 'judges.parquet'} does not exist; expected the results on constructed defendants, to compare trained "
            f"ones with. Type first: attest judges{' SMOKE=1' if smoke else ''}"
        )
    stated = yaml.safe_load(TRAINED.read_text(encoding="utf-8"))
    stated |= {name: constructed[name] for name in ("bootstrap", "tolerance")}
    stated |= SMALLER_TRAINED if smoke else {}
    count, processes = len(asked_for(stated)), cores()
    print(
        f"Training and trying {count} networks, {processes} at once; {duration(SECONDS * count / processes)} or so.",
        flush=True,
    )
    heard = all_heard(stated, constructed["tests"], constructed["settings"], processes)
    console = Console(stderr=True)
    trained = list(track(heard, "Networks:", count, console=console, disable=not console.is_terminal, transient=True))
    judged = pd.read_parquet(folder / "judges.parquet")
    print(write_trained(folder, trained, judged, stated, constructed["tests"], _stamp(TRAINED, smoke, [])))
    print(f"Judges:     {folder / TRAINED_PAGES.name}.html", flush=True)
    if logger == "wandb":
        from attest.report.tracking.wandb_report import log_trained

        print(f"W&B:        {log_trained(folder)}", flush=True)
    return 0


def _own(typed: str, tried: list[str]) -> dict[str, Any]:
    """Return the class of a defendant of the user's own, by its name."""
    name = typed.partition(":")[2]
    made = _defined(typed, "--defendant")
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


def _stamp(file: Path, smoke: bool, own: list[str], what: str = "Defendants, tests and directions") -> str:
    """Return a sentence that identifies the list of defendants: the hash of its file and the last commit that changed it."""
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    told = f"{what} are stated in configs/judges/{file.name}, sha256 {sha256[:16]}"
    told += f", {last_commit(file) or 'of no commit that could be found'}."
    told += " This is a smaller try, not what was stated." if smoke else ""
    return told + (f" Added by hand: {', '.join(own)}." if own else "")


def _defined(typed: str, flag: str) -> Any:
    """Return the object that a Python file of the user defines under a name, typed as ``file.py:name``."""
    path, _, name = typed.partition(":")
    example = f"Type for example: {flag} mine.py:{'Name' if flag == '--defendant' else 'name'}"
    if not name or not Path(path).is_file():
        raise AttestError(f"{flag} {typed} was typed; expected a file and a name in it. {example}")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise AttestError(f"{path} is not a Python file; expected one that ends in .py. {example}")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the file is the user's: whatever it raises is told in a sentence
        raise AttestError(
            f"{path} cannot be read: {type(error).__name__}: {error}; expected a file that Python can import. "
            f"Try for example: python {path}"
        ) from error
    if not hasattr(module, name):
        raise AttestError(f"{path} has no {name}; expected a name that it defines. {example}")
    return getattr(module, name)
