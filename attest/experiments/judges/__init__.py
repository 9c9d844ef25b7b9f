"""A trial of the experiments on networks that are built so that their attention is known to be right or wrong.

In: rules that make labels, defendants that follow them. Out: which test tells which wrong attention from right ones.
Start at ``texts.py``, then ``defendants.py``. Nothing here knows of Lightning, loggers or commands.
"""
