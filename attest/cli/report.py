"""``attest report``: write the page of one run, or one page that compares several runs.

A page is written again where a file of its run, or Attest itself, has changed since; FORCE=1 writes every page again.

attest report runs/sst/jw-bilstm-additive-softmax/seed0
attest report runs/sst/*softmax runs/sst/*sparsemax --out softmax-and-sparsemax.html
"""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from attest.cli.command_parser import CommandParser
from attest.runs.words import take_words

if TYPE_CHECKING:
    from attest.runs.folder import RunFolder

PAGE = "comparison.html"


def main(arguments: list[str]) -> int:
    """Run the command; returns the exit code.

    Args:
        arguments: what follows ``attest report``.
    Raises:
        AttestError: a folder holds no finished run, or the page would overwrite what is none.
    """
    words, rest = take_words(arguments, ("FORCE",))
    forced, typed = words.flag("FORCE"), _parser().parse_args(rest)
    from attest.cli.output import kind_of, require_own  # seconds that no mistake waits for
    from attest.report.freshness import is_current
    from attest.report.templating import OURS
    from attest.runs.finding import find_runs
    from attest.runs.folder import write_text

    if typed.out is not None:
        kind_of(typed.out, {".html": "page"})
        require_own(typed.out, OURS)
    runs = find_runs(typed.runs)
    for run in runs:
        current = not forced and is_current(run)
        if not current:
            _write(run)
        print(f"Report:     {run.report}{' (nothing has changed since it was written)' if current else ''}", flush=True)
    if len(runs) > 1:
        page = typed.out or Path(os.path.commonpath([run.path.parent for run in runs])) / PAGE
        with _no_search_for_garbage():
            from attest.report.comparison import write_comparison

            write_comparison(page, runs)
        print(f"Comparison: {page}")
    elif typed.out is not None:
        write_text(typed.out, runs[0].report.read_text(encoding="utf-8"))
        print(f"Copy:       {typed.out}")
    return 0


def _write(run: "RunFolder") -> None:
    with run.claimed(), _no_search_for_garbage():
        from attest.report import write_report  # with all experiments, which no page that is there waits for

        _keep_what_was_imported()
        write_report(run)


@cache
def _keep_what_was_imported() -> None:
    """So that between pages only what a page has left behind is searched."""
    gc.freeze()


@contextmanager
def _no_search_for_garbage() -> Iterator[None]:
    """A tenth of the time of a page would go into looking for garbage while it is made; it is looked for afterwards."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _parser() -> CommandParser:
    parser = CommandParser("attest report", __doc__)
    parser.add_argument("runs", nargs="+", type=Path, help="run folders, or folders that hold some")
    parser.add_argument(
        "--out",
        type=Path,
        help=f"the file of the page, *.html; for several runs by default {PAGE} in the folder that they share",
    )
    return parser
