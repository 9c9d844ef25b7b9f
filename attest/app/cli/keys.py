"""``attest keys``: other keys for a trained Transformer (E9).

    attest keys DATA=sst MODEL=transformer-dr PROJECTION=entmax15 ATTACK=adversarial
    attest keys DATA=sst MODEL=transformer-dr ATTACK=random,opposite,shuffle -- --trainer.max_epochs=5
    attest keys DATA=sst MODEL=transformer-dr ATTACK=adversarial-norm

The command writes trained attacks to ``keys/<attack>/`` in the folder of the run, and trains the run if it is missing.
Options after a lone ``--`` go only to the attacks. ATTACK=adversarial moves keys away by the logarithm of their mean squared
distance, as the released code does, and ATTACK=adversarial-norm by their Euclidean distance, as published. ATTACK=shuffle
trains nothing: it shuffles the keys of the run.
"""

from typing import Any

from attest.app.cli.evidence import main as gather_evidence
from attest.core.errors import AttestError, unknown_choice
from attest.core.spelled import spelled
from attest.runs.asked import AskedRun
from attest.runs.capabilities import attends_within, predicts
from attest.runs.choices import split_arguments, take_words
from attest.runs.identity import KEYS

TRAINED = {
    "adversarial": {"attack": "adversarial"},
    "adversarial-norm": {"attack": "adversarial", "distance": "norm"},
    "random": {"attack": "random"},
    "opposite": {"attack": "opposite"},
}
"""The attacks on attention keys (experiment E9) that train a network, the adversary, which supplies other keys, and its
arguments."""
SHUFFLE = "shuffle"
ATTACKS = (*TRAINED, SHUFFLE)


def main(arguments: list[str]) -> int:
    typed, own = split_arguments(arguments)
    words, typed = take_words(typed, ("ATTACK",))
    attacks = words.listed("ATTACK", "adversarial")
    for attack in attacks:
        if attack not in ATTACKS:
            raise unknown_choice("ATTACK", attack, ATTACKS, spelled("keys", "DATA=sst MODEL=transformer-dr ATTACK={}"))
    asked = AskedRun.of(typed)  # a mistyped choice is told before the imports below, which take seconds
    from attest.app.dependent import Dependent, overlay, train_base, train_dependent  # takes seconds

    base = train_base(asked, _require_self_attention)
    for attack in attacks:
        if attack == SHUFFLE:
            gather_evidence(["--run", str(base.folder.path), "E9", *own])
        else:
            settings = overlay("keys", {"model": {"init_args": TRAINED[attack]}})
            train_dependent(base, Dependent(KEYS, attack, settings, own_network=False), own)
    return 0


def _require_self_attention(settings: dict[str, Any]) -> None:
    kind = predicts(settings)
    if kind == "label" and attends_within(settings["model"]["init_args"].get("network")):
        return
    lacks = {"label": "has no self-attention", "tags": "gives a tag to each word"}
    lack = lacks.get(str(kind), "is not a classifier that can be attacked")
    raise AttestError(
        f"MODEL={settings['run']['model']} {lack}; expected a Transformer that classifies texts (its class has "
        "`attends_within = True`). Type MODEL=transformer-dr"
    )
