"""``attest roar``: erase what an explanation ranks first, train again, and measure the fall of accuracy (recursive ROAR).

    attest roar DATA=sst MODEL=bilstm READING=attention STEPS=10
    attest roar DATA=sst MODEL=bilstm READING=attention,integrated-gradients STEPS=5 -- --trainer.max_epochs=4

Each of STEPS steps (10 if not typed) masks an equal share of the tokens in every training, validation and test text, in the
order of the explanation. Then the command trains a new model on the masked texts, and explains the new model for the next
step (Hooker et al. 2019; Madsen et al. 2022). For comparison, the command always erases at random, too. READING names one or
several explanations, as in ``attest evidence --reading``. The models are in ``roar/`` in the folder of the base. The command
trains the base if it is missing, and does not train finished models again. Options after a lone -- go only to these models.
"""

from attest.runs.asked import AskedRun
from attest.runs.choices import split_arguments, take_words


def main(arguments: list[str]) -> int:
    typed, own = split_arguments(arguments)
    words, typed = take_words(typed, ("READING", "STEPS"))
    readings, steps = words.listed("READING", "attention"), words.count("STEPS", 10, least=2)
    asked = AskedRun.of(typed)  # a mistyped choice is told before the imports below, which take seconds
    from lightning_utilities.core.rank_zero import rank_zero_only

    from attest.experiments.readings.kinds import RANDOM, require_readings

    require_readings(readings)
    from attest.app.dependent import train_base
    from attest.app.roar import require_classifier, train_steps
    from attest.report.related_pages import write_roar

    base = train_base(asked, require_classifier)
    compared = dict.fromkeys((RANDOM, *readings))
    print(f"Training up to {len(compared) * (steps - 1) + 1} models again, each as its base was trained.", flush=True)
    rank_zero_only(write_roar)(base.folder, {name: list(train_steps(base, name, steps, own)) for name in compared})
    return 0
