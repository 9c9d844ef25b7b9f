"""The models of the library transformers, with hook points at which their attention can be replaced.

In: a model and its tokenizer. Out: a network that experiments can evaluate like those that Attest trains. Start at
``network.py``; ``attention.py`` connects the network to the library. Requires ``transformers`` 5.0 or later.
"""
