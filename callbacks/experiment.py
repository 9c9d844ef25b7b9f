"""Any experiment, without a class of its own."""

from collections.abc import Callable
from inspect import signature
from typing import Any

from torch import Tensor

from attest.callbacks.evidence import Evidence
from attest.errors import AttestError
from attest.experiments.registry import runnable


class Experiment(Evidence):
    """Runs an experiment on the observation of every batch: ``Experiment("E12", draws=10)``.

    Args:
        id: file name, metric prefix.
        experiment: takes an observation, ``options``, and, if it has parameters of these names, ``seed`` and ``labels``;
            returns columns, ``(B,)`` one number an instance or ``(B, T)`` one a token. None for the one that the registry
            has under this id.
        every_n_epochs, validation_instances: as in ``Evidence``.
        options: of the experiment, by the names of its parameters.
    Raises:
        AttestError: the experiment has no such option, or the registry has none of this id.
    """

    def __init__(
        self,
        id: str,
        experiment: Callable[..., dict[str, Tensor]] | None = None,
        every_n_epochs: int = 1,
        validation_instances: int = 256,
        **options: Any,
    ) -> None:
        super().__init__(every_n_epochs, validation_instances, **options)
        self.id, self.experiment = id, _registered(id) if experiment is None else experiment
        known = list(signature(self.experiment).parameters)[1:]
        for option in options:
            if option not in known:
                raise AttestError(
                    f"{id} was given {option}, and {self.experiment.__name__} has no such parameter; expected one of "
                    f"{', '.join(known) or 'none'}. Leave it out."
                )


def _registered(id: str) -> Callable[..., dict[str, Tensor]]:
    spec = runnable().get(id)
    if spec is None or spec.run is None:
        raise AttestError(f"no experiment is called {id}; expected one of {', '.join(runnable())}, or a function of your own.")
    return spec.run
