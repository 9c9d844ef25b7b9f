"""Reproduction: from a published table to its runs, and from their folders to the table, our numbers beside theirs.

In: ``configs/tables/<table>.yaml`` and run folders. Out: a plan that Snakemake carries out (``Snakefile``), and
``results/<table>/``.

* ``definition``  a published table as its file describes it: rows, columns, sources, claims
* ``plan``        which runs, in which folders, after which others; ``estimate`` says how long they took before
* ``measured``    a number, or one an instance, from a run folder
* ``comparison``  ours against the published one, and two rows against each other: pure functions
* ``table``       all numbers and claims of a table; ``page``, ``drawing`` and ``provenance`` are what ``write`` writes
"""
