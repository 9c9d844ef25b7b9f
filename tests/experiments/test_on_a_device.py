"""Every experiment on every kind of model runs on an accelerator as on the CPU, and within a budget.

The accelerator is the fake one of ``tests/fake_device.py``: nothing may mix devices, numbers are those of the CPU, and what an
experiment launches, reads and uploads for a batch of four texts is counted. The snapshots have the budget of each; an
experiment that is new in the registry is tried by itself, and ``--snapshot-update`` writes down its budget.
``python -m benchmarks.launches`` counts larger batches, and prints the lines that launch most.

*Launches* are what the CPU's operations would be, one kernel each. That is too much where an accelerator has one kernel for
several: a recurrent layer is some operations for each token here, and one call of cuDNN there. So *fused* counts each pass
through such a layer, forwards or backwards, as one. It is too little in turn where cuDNN is turned off because it refuses
gradients in evaluation mode (``observe``, gradients): there an accelerator launches some kernels for each token.
"""

import re
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
import torch
from syrupy.extensions.amber import AmberSnapshotExtension
from torch import nn

import attest
from attest.core.kinds import TAGS
from attest.experiments.registry import INSIDE, OF_TAGS, askable
from tests.experiments.networks import ragged_batch
from tests.experiments.on_a_device import KINDS, LENGTHS, SETTINGS, THEIRS, Kind, observed
from tests.fake_device import DEVICE, FakeDevice, fake_device

CLOSE = 5e-6
"""The largest difference from the CPU, absolute for numbers of order 1."""
ROOM = 1.1
"""How many times its budget of launches an experiment may need, since versions of PyTorch cut operations into other kernels.
Reads and uploads are exact."""
LEAST = 0.7
"""What needs a smaller share of its budget gets a smaller budget, so that it stays as cheap as it became."""


class Budget(AmberSnapshotExtension):
    """A snapshot of counts that also holds where they are within their budget."""

    varies = ("launches", "fused")

    def matches(self, *, serialized_data: Any, snapshot_data: Any) -> bool:
        counted, kept = (
            {what: int(count) for what, count in re.findall(r"(\w+): (\d+)", data)}
            for data in (serialized_data, snapshot_data)
        )
        room = {what: ROOM if what in self.varies else 1.0 for what in kept}
        return counted.keys() == kept.keys() and all(
            LEAST * kept[what] <= count <= room[what] * kept[what] for what, count in counted.items()
        )


def counts_in(line: str) -> dict[str, int]:
    return {what: int(count) for what, count in re.findall(r"(\w+): (\d+)", line)}


class BudgetOfSearch(Budget):
    """How often E19 reads and uploads depends on last digits, too."""

    varies = ("launches", "fused", "syncs", "uploads")


OTHERS = pytest.mark.whole("models of other people, with each experiment")
MANY = pytest.mark.whole("a text is read in hundreds of variants")


def case(kind: str, name: str) -> Any:
    long = OTHERS if kind in THEIRS else MANY
    return pytest.param(kind, name, id=f"{kind}-{name}", marks=long if takes_long(kind, name) else ())


def takes_long(kind: str, name: str) -> bool:
    """The tagger is the smallest of our networks, and so tries what reads most in the quick tests, too."""
    return kind in THEIRS or (name in ("E14", "E19") and kind != "tagger")


CASES = [(kind, name) for kind, of in KINDS.items() for name in of.experiments]
QUICK = [case(*each) for each in CASES if not takes_long(*each)]
LONG = [case(*each) for each in CASES if takes_long(*each)]


def measured(kind: Kind, network: nn.Module, name: str, counts: FakeDevice | None = None) -> dict[str, torch.Tensor]:
    """Return the columns of an experiment, on the fake device if its counts are given."""
    pooled, layers, context = observed(kind, network, "cpu" if counts is None else DEVICE)
    if counts is not None:
        counts.forget()
    experiment = kind.experiments[name]
    asked = replace(experiment, settings=SETTINGS.get(name, {}))
    return asked(layers if asked.inside else pooled, context)


def counts_of(device: FakeDevice) -> dict[str, int]:
    """Return what was counted; with passes through recurrent layers as one kernel each, too, where there were such passes."""
    fused = {"fused": device.fused} if device.fused < device.launches else {}
    return {"launches": device.launches, **fused, "syncs": device.syncs.total(), "uploads": device.uploads.total()}


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=OTHERS if kind in THEIRS else ()) for kind, of in KINDS.items() if of.inside],
)
def test_a_network_is_tried_with_each_experiment_that_suits_it(kind):
    of = KINDS[kind]
    network, within = of.make(), OF_TAGS if of.decides == TAGS else INSIDE
    suited = [name for name in askable(True, of.decides) if name not in within or within[name].suits(network)]
    assert [*of.experiments] == suited


@pytest.mark.parametrize(("kind", "name"), QUICK)
def test_an_experiment_runs_on_a_device_as_on_the_cpu_within_its_budget(kind, name, snapshot):
    require_alike(kind, name, snapshot)


@pytest.mark.parametrize(("kind", "name"), LONG)  # a test of its own: snapshots of a test that is run in part count as unused
def test_so_does_each_that_takes_long(kind, name, snapshot):
    require_alike(kind, name, snapshot)


def require_alike(kind: str, name: str, snapshot: Any) -> None:
    of = KINDS[kind]
    expected = measured(of, of.make(), name)
    with fake_device() as device:
        found = measured(of, of.make().to(DEVICE), name, device)
        counted = counts_of(device)
        found = {column: values.detach().cpu() for column, values in found.items()}
    assert found.keys() == expected.keys()
    for column, values in expected.items():
        torch.testing.assert_close(
            found[column], values.detach(), atol=CLOSE, rtol=CLOSE, equal_nan=True, msg=lambda m, c=column: f"{c}: {m}"
        )
    line = ", ".join(f"{what}: {count}" for what, count in counted.items())
    within = line == snapshot(extension_class=BudgetOfSearch if name == "E19" else Budget)
    assert within, advice(f"{name} on {kind}", line, device)


@pytest.mark.parametrize("kind", ["pooled", pytest.param("encoder", marks=OTHERS)])
def test_a_trial_on_a_device_has_the_tables_of_the_cpu(kind):
    """Through the seam of ``attest.trial``, from batches to tables."""
    ids, tokens, mask = ragged_batch(LENGTHS)
    batches = [{"id": ids, "token_ids": tokens, "mask": mask, "label": ids % 2}]
    asked = {name: SETTINGS[name] for name in ("E2", "E3")}

    def tables(network: nn.Module) -> dict[str, Any]:
        trial = attest.trial(network, batches, asked, progress=False)
        return {name: trial.table(name) for name in ("instances", *asked)}

    expected = tables(KINDS[kind].make())
    with fake_device():
        found = tables(KINDS[kind].make().to(DEVICE))
    for name, table in expected.items():
        pd.testing.assert_frame_equal(found[name], table, rtol=CLOSE, atol=CLOSE)


def advice(what: str, line: str, device: FakeDevice) -> str:
    """Return what an experiment costs outside its budget, where, and what to do."""
    where = "\n".join(f"{count:6} × {line}" for line, count in [*device.syncs.most_common(5), *device.uploads.most_common(3)])
    return (
        f"{what} has no budget, or costs less than {LEAST} or more than {ROOM} times that: {line}. The CPU waits at each "
        "read (.item(), .tolist(), nonzero, a bool of a tensor), so read once a batch, and launch for all texts at once. Most "
        f"are at:\n{where}\nIf it is new or cheaper, or the change is worth its price, run this test with --snapshot-update."
    )
