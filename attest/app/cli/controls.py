"""``attest controls``: controls of a run, to compare its attention with (E4, E5, E6), in one table.

    attest controls DATA=sst MODEL=bilstm SEEDS=3
    attest controls DATA=conll2000 MODEL=tagger LAMBDA=0.2,3

E4  trains the same model with uniform attention, and a classifier with attention on the last state alone: does the task
    need attention at all?
E5  trains the same model with SEEDS other seeds (3 if not typed): how far apart is their attention?
E6  trains a model without context (for taggers, the tagger itself) with a given attention: uniform, learned, from the base,
    or from adversaries with LAMBDA (1e-3 for classifiers, 0.2 and 3 for taggers)

VARIANT, DIVERGENCE and CONVENTION choose the adversaries, as in attest adversarial. GUIDE=base or GUIDE=unfrozen-kl-0.001
trains only one model of E6, with this attention, and compares nothing. With PROBE=states, it reads each token alone, and tags
the states that this attention weights; only for taggers. All other words are words of attest fit, and name the base. Options
after a lone -- go only to adversaries and models of E6. The command does not train finished runs again.
"""

from functools import partial

from attest.runs.asked import AskedRun
from attest.runs.choices import split_arguments
from attest.runs.dependent_names import parse_adversary, take_adversaries, take_controls


def main(arguments: list[str]) -> int:
    asked_for, rest = take_controls(arguments)
    guided_by = asked_for.guide
    choices, rest = take_adversaries(rest)
    typed, own = split_arguments(rest)
    if guided_by is not None and guided_by != "base":
        parse_adversary(guided_by)  # refused before anything is trained
    asked = AskedRun.of(typed)  # a mistyped choice is told before the imports below, which take seconds
    from lightning_utilities.core.rank_zero import rank_zero_only

    from attest.app.adversaries import controls, require_controls, require_guides, train_guide, without_sense
    from attest.app.dependent import train_base
    from attest.report.findings import Findings
    from attest.report.page import write_report
    from attest.report.related_pages import write_controls

    accept = require_controls if guided_by is None else partial(require_guides, probe=asked_for.probe)
    base = train_base(asked, accept)
    if guided_by is not None:
        train_guide(base, own, guided_by, asked_for.probe)
        return 0
    planned = list(controls(base, typed, own, asked_for.seeds, choices))
    named_so = (f"  {experiment}  {name}" for experiment, name, _ in planned)
    left_out = (f"  {experiment}  left out: {reason}." for experiment, reason in without_sense(base.settings))
    print("Controls, trained unless they are there:", *named_so, *left_out, sep="\n", flush=True)
    found = []
    for place, (experiment, name, train) in enumerate(planned, start=1):
        print(f"Control {place} of {len(planned)}: {experiment}, {name}", flush=True)
        found.append((experiment, name, train()))
    rank_zero_only(write_controls)(base.folder, found)
    rank_zero_only(write_report)(Findings(base.folder))
    return 0
