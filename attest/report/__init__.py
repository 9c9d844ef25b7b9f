"""The report: figures, tables, published numbers and the page that shows them.

In: a run folder, and nothing else. Out: ``summary.json`` and ``report.html``, self-contained. Start at ``page.py``.
"""

from attest.report.page import illustrations, write_report
from attest.report.summary import summarise_run

__all__ = ["illustrations", "summarise_run", "write_report"]
