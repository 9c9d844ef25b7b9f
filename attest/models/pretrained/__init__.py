"""Other people's Transformers: models of the library transformers, with hook points at which their attention is tampered with.

In: a model and its tokenizer. Out: a network that can be observed and put on trial as any of ours. Start at ``network.py``;
``attention.py`` is the seam. Needs ``transformers``, from 5.0 on.
"""
