"""A trial of the experiments themselves, on networks whose attention is right or wrong by construction.

In: rules that make labels, defendants that follow them. Out: which test tells which wrong attention from right ones.
Start at ``texts.py``, then ``defendants.py``. Nothing here knows of Lightning, loggers or commands.
"""
