"""Reproduce published tables: each table becomes a plan of runs, and our numbers stand beside the published ones.

``plan.py`` plans the runs, ``workflow.py`` and ``Snakefile`` let Snakemake train them, and ``write.py`` writes
``results/<table>/``: ``table.py`` computes all numbers and claims, ``comparison.py`` judges them, ``page.py`` puts them into
words and ``figures.py`` draws them. The published numbers themselves are in ``attest/runs/published_tables.py``, because every
report shows them. No other folder but ``app`` needs what is here.
"""
