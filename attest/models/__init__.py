"""The networks: our own, the Transformers of other people, and the observation of one forward pass of a network.

In: token ids and a mask. Out: an ``Observation``, from which every experiment computes its columns. Start at
``observation.py``; ``layers_observed.py`` observes attention inside the layers of a Transformer.
"""
