"""The report: figures, tables, published numbers and the page that shows them.

In: a run folder, and nothing else. Out: ``summary.json`` and ``report.html``, self-contained. Start at ``page.py``.
"""
