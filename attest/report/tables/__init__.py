"""Published tables, our numbers beside theirs.

In: a table as ``configs/tables/<table>.yaml`` describes it (``attest/runs/published_tables.py``) and the folders of its runs.
Out: ``results/<table>/``. ``attest.app.reproduce`` plans the runs and has the table written.

* ``measured``    a number, or one an instance, from a run folder
* ``comparison``  ours against the published one, and two rows against each other: pure functions
* ``table``       all numbers and claims of a table; ``page``, ``drawing`` and ``provenance`` are its parts in words
"""
