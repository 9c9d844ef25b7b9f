"""Published tables, our numbers beside theirs.

In: a table as ``configs/tables/<table>.yaml`` describes it (``attest/runs/published_tables.py``) and the folders of its runs.
Out: ``results/<table>/``. ``attest.app.reproduce`` plans the runs and has the table written.

* ``comparison``  ours against the published one, and two rows against each other: pure functions
* ``table``       all numbers and claims of a table; ``page`` puts them in words, ``figures`` draws them
"""
