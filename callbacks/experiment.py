"""Any experiment at all, without a class of its own."""

from collections.abc import Callable
from inspect import signature
from typing import Any

from torch import Tensor

from attest.callbacks.evidence import Evidence
from attest.errors import AttestError


class Experiment(Evidence):
    """Runs a function on the observation of every batch: ``Experiment("E12", erasure_until_flip, draws=10)``.

    Args:
        id: file name, metric prefix.
        experiment: takes an observation, ``options``, and, if it has parameters of these names, ``seed`` and ``labels``;
            returns columns, ``(B,)`` one number an instance or ``(B, T)`` one a token.
        every_n_epochs, validation_instances: as in ``Evidence``.
        options: of the experiment, by the names of its parameters.
    Raises:
        AttestError: the experiment has no such option.
    """

    def __init__(
        self,
        id: str,
        experiment: Callable[..., dict[str, Tensor]],
        every_n_epochs: int = 1,
        validation_instances: int = 256,
        **options: Any,
    ) -> None:
        super().__init__(every_n_epochs, validation_instances, **options)
        self.id, self.experiment = id, experiment
        known = list(signature(experiment).parameters)[1:]
        for option in options:
            if option not in known:
                raise AttestError(
                    f"{id} was given {option}, and {experiment.__name__} has no such parameter; expected one of "
                    f"{', '.join(known) or 'none'}. Leave it out."
                )
