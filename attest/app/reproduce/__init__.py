"""Reproduction: from a published table to its runs, as a plan that Snakemake carries out.

* ``plan``       which runs, in which folders, after which others; ``estimate`` says how long they took before
* ``workflow``   starts Snakemake (``Snakefile``; ``shards.smk`` for the evidence of one run)
* ``write``      the results of a table, when its runs are there; ``attest.report.tables`` makes page, drawing and numbers
"""
