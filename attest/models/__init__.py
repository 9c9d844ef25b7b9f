"""The networks that Attest trains, the wrappers around other people's models, and the observation of a forward pass.

In: token ids and a mask. Out: an ``Observation``, from which every experiment computes its columns. Start at
``observation.py``; ``layers_observed.py`` observes attention inside the layers of a Transformer.
"""
