"""Pages from templates: all data are escaped, and an undefined variable is an error."""

import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from attest.core.version import __version__

OURS = re.compile(r".*?<title>Attest", re.DOTALL)
"""How every page begins."""


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("attest.report"), autoescape=select_autoescape(["html"]), undefined=StrictUndefined
    )


def render(template: str, **content: Any) -> str:
    """Fill in one of the templates of this folder."""
    return _environment().get_template(template).render(version=__version__, **content)
