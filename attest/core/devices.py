"""The devices on which models compute: their names, and whether a network can be compiled for them."""

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


def require_compiler(device: torch.device) -> None:
    """Raise an ``AttestError`` if ``torch.compile`` cannot compile for a device here."""
    try:
        torch.compile(torch.sin)(torch.zeros(2, device=device))
    except RuntimeError as error:
        found = " ".join(str(error).split())[:100]
        raise AttestError(
            f"torch.compile cannot compile for the {device.type} here ({found} …); expected a compiler: g++ or clang++ for a "
            "CPU, Triton for a GPU. Install it, or type --run.compile=false"
        ) from error
