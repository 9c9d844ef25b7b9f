"""Count what evidence about a batch costs on an accelerator: kernels, reads that the CPU waits for, and copies to the device.

    python -m benchmarks.launches --texts 8 --tokens 20 --experiments E1 E3 E14
    python -m benchmarks.launches --experiments E1 --by line

The device is the fake one of ``tests.fake_device``, so no accelerator is needed. *Launches* are all kernels; *fused* counts
each pass through a recurrent layer as one, as cuDNN computes it where no gradient is asked for. The networks are those of
``tests.experiments.on_a_device``; the settings are those of the experiments, unless ``--small`` takes those of the tests.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from attest.report.run_tables import markdown_table
from tests.experiments.on_a_device import KINDS, SETTINGS, observed
from tests.fake_device import DEVICE, FakeDevice, fake_device

HEAD = ["experiment", "launches", "fused", "reads", "uploads"]


def counted(kind: str, name: str, lengths: list[int], settings: dict[str, Any]) -> FakeDevice:
    """Return the counts of an experiment on a batch of texts of these lengths."""
    of = KINDS[kind]
    experiment = of.experiments[name]
    with fake_device() as device:
        pooled, layers, context = observed(of, of.make().to(DEVICE), DEVICE, lengths)
        device.forget()
        asked = replace(experiment, settings=settings)
        asked(layers if asked.inside else pooled, context)
    return device


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, count and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.launches", description=__doc__)
    parser.add_argument("--kind", choices=[*KINDS], default="pooled", help="the network")
    parser.add_argument("--texts", type=int, default=8, help="of the batch")
    parser.add_argument("--tokens", type=int, default=20, help="of each text")
    parser.add_argument("--experiments", nargs="+", help="all by default")
    parser.add_argument("--small", action="store_true", help="with the settings of the test")
    parser.add_argument("--by", choices=["operation", "line"], help="also print what is launched, most first")
    chosen = parser.parse_args(arguments)
    rows = []
    for name in chosen.experiments or KINDS[chosen.kind].experiments:
        settings = SETTINGS.get(name, {}) if chosen.small else {}
        device = counted(chosen.kind, name, [chosen.tokens] * chosen.texts, settings)
        counts = (device.launches, device.fused, device.syncs.total(), device.uploads.total())
        rows.append([name, *map(str, counts)])
        if chosen.by:
            found = device.kernels if chosen.by == "operation" else device.lines
            print("\n".join(f"{count:6} × {what}" for what, count in found.most_common(40)))
    print(markdown_table([HEAD, *rows], padded=True))


if __name__ == "__main__":
    main()
