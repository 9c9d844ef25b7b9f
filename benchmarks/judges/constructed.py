"""The networks whose attention is right or wrong by construction, those of one's own among them, before all tests."""

import hashlib
import importlib.util
import subprocess
from pathlib import Path
from typing import Any

import yaml

from attest.core.errors import AttestError
from attest.judges.judging import hear, judge, with_added
from attest.judges.metric import STATED
from attest.runs.folder import write_json
from attest.runs.versions import GIT
from benchmarks.judges.constructed_page import write_judges
from benchmarks.judges.found import findings

CHECKOUT = Path("configs/judges/constructed.yaml")
"""The same file in a checkout, where the results and the shipped findings are written anew."""
OFFERED = ("encode", "score", "project", "decode", "forward", "carrying_states")
SMALLER = {"rules": ["token", "conjunction"], "seeds": [0], "texts": 20, "layered_texts": 4}


def try_constructed(folder: Path, findings_file: Path, smoke: bool, typed: str | None) -> None:
    """Run the tests on networks whose attention is right or wrong by construction, and write what came out.

    Args:
        findings_file: the file that gets what each experiment misses and accuses.
        typed: a defendant of one's own, ``file.py:Name``; None for none.
    """
    stated = with_added(yaml.safe_load(STATED.read_text(encoding="utf-8"))) | (SMALLER if smoke else {})
    own = _own(typed, stated["rules"]) if typed else {}
    judged = judge(hear(stated, own), stated)
    said = write_judges(folder, judged, stated, stamp(STATED, smoke, [*own]))
    tests = {name: test for family in stated["tests"].values() for name, test in family.items()}
    write_json(findings_file, findings(judged, {name: test["experiment"] for name, test in tests.items()}, stated["sees"]))
    print(f"{said}\nJudges:     {folder / 'judges.html'}", flush=True)


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
            f"the class {name} lacks methods: {', '.join(lacking)}; expected the methods {', '.join(OFFERED)}. "
            f"Write for example: class {name}(attest.judges.defendants.Defendant)"
        )
    if isinstance(made.rules, str) or not set(made.rules) & set(tried):
        raise AttestError(
            f"the rules of {name} are {made.rules!r}; expected a tuple with one or more of the rules that are tried: "
            f"{', '.join(tried)}. Write for example: rules = ('{tried[0]}',)"
        )
    return {name: made}


def stamp(file: Path, smoke: bool, own: list[str]) -> str:
    """Return a sentence that identifies the list of defendants: the hash of its file and the last commit that changed it."""
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    told = f"Defendants, tests and directions are stated in configs/judges/{file.name}, sha256 {sha256[:16]}"
    told += f", {_last_commit(file) or 'of no commit that could be found'}."
    told += " This is a smaller try, not what was stated." if smoke else ""
    return told + (f" Added by hand: {', '.join(own)}." if own else "")


def _last_commit(file: Path) -> str | None:
    """Return ``committed as <hash> of <day>``, the last commit of a file; None without git, or if the file has changed."""
    where = file.resolve()
    git = [*GIT, "-C", str(where.parent)]
    try:
        changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", where.name], capture_output=True).returncode
        log = subprocess.run([*git, "log", "-1", "--format=%h of %cs", "--", where.name], capture_output=True, text=True)
    except OSError:
        return None
    return f"committed as {log.stdout.strip()}" if changed == 0 and log.stdout.strip() else None


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
        raise AttestError(f"{path} does not define {name}; expected the name of a class in this file. {EXAMPLE}")
    return getattr(module, name)
