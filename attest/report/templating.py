"""Render pages from templates, with all data escaped and an error for each undefined variable."""

import re
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from attest.core.measures.numbers import percent
from attest.core.version import __version__

OURS = re.compile(r".*?<title>Attest", re.DOTALL)
"""Matches the beginning of every page that Attest writes; other files are not overwritten."""


ENVIRONMENT = Environment(
    loader=PackageLoader("attest.report"), autoescape=select_autoescape(["html"]), undefined=StrictUndefined
)
ENVIRONMENT.filters["percent"] = percent


def render(template: str, **content: Any) -> str:
    """Fill in a template of this folder with ``content``, and return the resulting text."""
    return ENVIRONMENT.get_template(template).render(version=__version__, **content)
