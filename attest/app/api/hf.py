"""The callback that puts the attention of a model on trial while the ``Trainer`` of transformers trains it."""

from collections.abc import Iterator
from typing import Any, Literal

from pytorch_lightning.utilities.seed import isolate_rng

from attest.app.api.asked import Experiments
from attest.app.api.trials import Trial, trial
from attest.core.errors import AttestError, needing_transformers
from attest.datamodules.notice import say

with needing_transformers():
    from transformers import TrainerCallback

MOMENTS = ("epoch", "evaluation")


class AttentionTrial(TrainerCallback):
    """A Trainer callback that tests the attention on fixed texts during training and logs the results.

    It changes nothing in the training: model, gradients and random numbers are afterwards as they were before. A trial that
    is refused is left out and says why; the training goes on. Several processes share the texts.

    Args:
        texts: as ``data`` in ``attest.trial``.
        experiments: as in ``attest.trial``; None for those that the verdict needs.
        every: ``epoch``, ``evaluation``, or a number of steps.
        tokenizer: of the model; None for the Trainer's ``processing_class``.
        options: as ``attest.trial`` takes them, ``labels`` for example.
    Raises:
        AttestError: ``every`` is something else.
    Example:
        >>> AttentionTrial(texts, ["E2"], every="epoch").attach(trainer)  # doctest: +SKIP
        >>> trainer.train()  # doctest: +SKIP
    """

    def __init__(
        self,
        texts: Any,
        experiments: Experiments | None = None,
        every: Literal["epoch", "evaluation"] | int = "epoch",
        *,
        tokenizer: Any = None,
        **options: Any,
    ) -> None:
        steps = isinstance(every, int) and not isinstance(every, bool) and every > 0
        if every not in MOMENTS and not steps:
            raise AttestError(f"`every` is {every!r}; expected 'epoch', 'evaluation' or a number of steps from 1.")
        self.texts = list(texts) if isinstance(texts, Iterator) else texts
        self.experiments, self.every, self.tokenizer, self.options = experiments, every, tokenizer, options
        self.last: Trial | None = None
        """The result of the last trial (test of the model's attention) in this training, with its tables and its report; None
        before the first."""
        self._trainer: Any = None

    def attach(self, trainer: Any) -> "AttentionTrial":
        """Add this callback to a Trainer, log through the loggers of the Trainer, and return this callback.

        Raises:
            AttestError: the parameters are spread over processes, by FSDP or DeepSpeed.
        """
        if trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled:
            raise AttestError(
                "the Trainer spreads the parameters of the model over its processes (FSDP or DeepSpeed), so no process has "
                "the whole model; expected a Trainer that keeps the whole model in each process. Save the model and "
                "test it afterwards: attest trial --model <folder>"
            )
        self._trainer = trainer
        self.tokenizer = self.tokenizer or trainer.processing_class
        trainer.add_callback(self)
        return self

    def on_init_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Raise an error if this callback is in the ``callbacks=`` of a Trainer, because it could not log there."""
        raise AttestError(
            "AttentionTrial is in the callbacks= of a Trainer, where it cannot log; expected a Trainer without it in "
            "callbacks=. Create this Trainer, and type: AttentionTrial(texts, …).attach(trainer)"
        )

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.every == "epoch":
            self._try(kwargs["model"], control)

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.every == "evaluation":
            self._try(kwargs["model"], control)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.every not in MOMENTS and state.global_step % self.every == 0:
            self._try(kwargs["model"], control)

    def _try(self, model: Any, control: Any) -> None:
        options: dict[str, Any] = {"progress": False, "processes": "ranks"} | self.options
        try:
            with isolate_rng():
                self.last = trial(model, self.texts, self.experiments, tokenizer=self.tokenizer, **options)
        except AttestError as error:  # the training is worth more than a trial of it
            say(f"The trial after step {self._trainer.state.global_step} is left out: {error}")
            return
        log_next = control.should_log  # which logging sets to False
        numbers = self.last.summary.items()
        self._trainer.log({f"eval_{key}": value for key, value in numbers if key.endswith("/mean") and value is not None})
        control.should_log = log_next
