"""``attest roar``: erase what a reading ranks first, train again, and see how fast the accuracy falls (recursive ROAR).

    attest roar DATA=sst MODEL=bilstm READING=attention STEPS=10
    attest roar DATA=sst MODEL=bilstm READING=attention,integrated-gradients STEPS=5 -- --trainer.max_epochs=4

Each of STEPS steps (10 if not typed) masks an equal share of the tokens of every training, validation and test text, in the
order of the reading. Then a new model is trained on what is left, and read in turn (Hooker et al. 2019; Madsen et al. 2022).
Random erasure is always trained too, for comparison. READING is one or several that `attest evidence --reading`
takes. The models are in ``roar/`` of the base, which is trained first if it is missing. Models that exist are not trained
again. Options after a lone -- go to these models only.
"""

from attest.runs.asked import AskedRun
from attest.runs.choices import split_arguments, take_words


def main(arguments: list[str]) -> int:
    typed, own = split_arguments(arguments)
    words, typed = take_words(typed, ("READING", "STEPS"))
    readings, steps = words.listed("READING", "attention"), words.count("STEPS", 10, least=2)
    asked = AskedRun.of(typed)  # a mistyped choice is told before the imports below, which take seconds
    from attest.experiments.readings.kinds import RANDOM, require_readings

    require_readings(readings)
    from attest.app.dependent import train_base
    from attest.app.roar import require_classifier, train_steps
    from attest.report.related_pages import write_roar

    base = train_base(asked, require_classifier)
    compared = dict.fromkeys((RANDOM, *readings))
    print(f"Training up to {len(compared) * (steps - 1) + 1} models again, each as its base was trained.", flush=True)
    write_roar(base.folder, {name: list(train_steps(base, name, steps, own)) for name in compared})
    return 0
