"""The report writes ``summary.json`` and the self-contained page ``report.html`` from a run folder and from nothing else;
start at ``page.py``.
"""
