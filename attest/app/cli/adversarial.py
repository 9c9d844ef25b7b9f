"""``attest adversarial``: train adversaries of a run (E7), which predict the same with other attention; one or a sweep over λ.

    attest adversarial DATA=sst MODEL=bilstm LAMBDA=1e-3
    attest adversarial DATA=sst MODEL=bilstm LAMBDA=1e-4,1e-3,1e-2 VARIANT=frozen DIVERGENCE=jsd -- --trainer.max_epochs=9

LAMBDA      weight of the divergence; separate several with commas  (1e-3 for classifiers, 0.2 for taggers)
VARIANT     unfrozen: trains a new network; frozen: keeps the network of the base and trains only its attention again
DIVERGENCE  kl | jsd | smoothed-kl: the divergence from the attention of the adversary to that of the base
CONVENTION  the scale of LAMBDA. instances: a divergence is a sum over a row of attention; yang: it is the mean over
            the entries of a row; wiegreffe-pinter: the distance of predictions is halved

All other words are words of attest fit. They name the base, and the command trains the base if it is missing. Options after
a lone -- go only to the adversaries. FORCE=1 trains finished adversaries again and keeps the base. A sweep also gets a table
and a figure.
"""

from collections.abc import Sequence

from attest.runs.asked import AskedRun
from attest.runs.choices import split_arguments
from attest.runs.dependent_names import take_adversaries
from attest.runs.folder import RunFolder

STAYED = 1e-3
"""A mean JSD in nats, between the attention of a trained adversary and that of its base run. Below it a warning says that the
adversary, which was to attend elsewhere, attends as the base run does."""


def main(arguments: list[str]) -> int:
    choices, rest = take_adversaries(arguments)
    typed, own = split_arguments(rest)
    asked = AskedRun.of(typed)  # a mistyped choice is told before the imports below, which take seconds
    from lightning_utilities.core.rank_zero import rank_zero_only  # what follows takes seconds

    from attest.app.adversaries import adversary, lambdas_of, require_adversary
    from attest.app.dependent import train_base, train_dependent
    from attest.report.related_pages import write_sweep

    base = train_base(asked, lambda settings: require_adversary(choices, settings))
    lambdas = lambdas_of(choices, base.settings)
    runs = []
    for place, lam in enumerate(lambdas, start=1):
        print(f"Adversary {place} of {len(lambdas)}: {choices.name(lam)}", flush=True)
        runs.append(train_dependent(base, adversary(choices, lam, base.settings), own))
    if len(runs) > 1:
        rank_zero_only(write_sweep)(base.folder, choices.sweep, runs)
    rank_zero_only(say_who_stayed)(runs)
    return 0


def say_who_stayed(runs: Sequence[RunFolder]) -> None:
    """Print which adversaries attend almost as their base run does, and suggest options for a larger difference."""
    from attest.report.related import distances_of
    from attest.runs.contents import RunContents

    for run in runs:
        if distances_of(RunContents(run))["jsd"] < STAYED:
            print(
                f"{run.path.name} attends as its base does (JSD below {STAYED:g}). Where both attend alike, the gradient of "
                "the divergence is zero. Type a larger LAMBDA, or -- --model.init_args.attention_learning_rate_scale=10",
                flush=True,
            )
