"""A trial of the experiments on networks that are built so that their attention is known to be right or wrong.

Input: rules that label texts, and networks that follow these rules (defendants). Output: for each test, which wrong attention
it can tell from right attention. Start at ``texts.py``, then ``defendants.py``; a metric of the user's comes in by
``metric.py``. Nothing here knows of Lightning, loggers or commands, and no other folder needs what is here.
"""
