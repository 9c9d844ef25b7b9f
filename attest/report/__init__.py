"""The report writes ``summary.json`` and the self-contained page ``report.html`` from the files in a run folder alone;
start at ``page.py``.
"""
