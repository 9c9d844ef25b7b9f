"""The models of the library transformers, with hook points at which their attention can be replaced.

In: a model and its tokenizer. Out: a network that can be put on trial like our own. Start at ``network.py``; ``attention.py``
connects it to the library. Needs ``transformers``, from 5.0 on.
"""
