"""By which rules a table was written: a line at its end that a test can read.

A committed table is older than its rules where its stamp is not the one that the present rules and its file give.
"""

import hashlib
import re

from attest.tables.definition import PublishedTable
from attest.tables.rules import LEVEL, RULES, SHARE

STAMP = re.compile(r"<!-- rules \S+ [0-9a-f]{12} -->")


def stamp(experiment: PublishedTable) -> str:
    """The line: the date of the rules, and 12 hex digits of all that decides a verdict but the runs."""
    embeddings = [source.embeddings for source in experiment.sources.values() if source.embeddings]  # not in their repr
    decides = (RULES, LEVEL, SHARE, experiment, *embeddings)
    digest = hashlib.sha256(repr(decides).encode()).hexdigest()
    return f"<!-- rules {RULES.fixed} {digest[:12]} -->"


def stamp_of(page: str) -> str:
    """The stamp that a written table carries; empty where it has none."""
    match = STAMP.search(page)
    return match[0] if match else ""
