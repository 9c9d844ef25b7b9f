"""Everything that attends: our networks, Transformers of other people, and how one pass of either is observed.

In: token ids and a mask. Out: an ``Observation``, of which every experiment is a function. Start at ``observation.py``, the
seam of networks that pool by attention; ``layers_observed.py`` is that of attention inside the layers of a Transformer.
``contract.py`` checks that a network keeps to the seam.
"""
