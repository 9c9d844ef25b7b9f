"""The report: figures, tables, published numbers and the page that shows them.

In: a run folder, and nothing else. Out: ``summary.json`` and ``report.html``, self-contained. Start at ``page.py``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attest.report.page import illustrations, write_report
    from attest.report.summary import summarise_run

__all__ = ["illustrations", "summarise_run", "write_report"]
_HOMES = {"illustrations": "page", "summarise_run": "summary", "write_report": "page"}
"""The file of each, imported when it is first asked for: a table of runs needs nothing that draws."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
