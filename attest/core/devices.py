"""The devices on which models compute, by name."""

import torch

from attest.core.errors import AttestError


def device_named(name: str | torch.device) -> torch.device:
    """Return the device for a name such as ``cpu``, ``cuda`` or ``cuda:1``."""
    there = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    expected = " or ".join(["cpu", *(["cuda"] if there else []), *(there if len(there) > 1 else [])])
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise AttestError(f"the device {name!r} is not known; expected {expected}.") from error
    if device.type == "mps":
        raise AttestError(
            f"the device mps cannot compute with 64-bit numbers, which Attest needs; expected {expected}. Give the device cpu."
        )
    if device.type not in ("cpu", "cuda") or (device.type == "cuda" and (device.index or 0) >= len(there)):
        raise AttestError(f"this machine has no device {name!r}; expected {expected}.")
    return device
