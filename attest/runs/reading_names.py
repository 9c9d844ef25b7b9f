"""What readings are called when they are typed; the readings themselves come with PyTorch and are not imported for it."""

from attest.errors import AttestError, unknown_choice

RANDOM = "random"
READINGS = (
    "attention",
    "norm",
    "margin",
    "attention-gradient",
    "gradient-input",
    "integrated-gradients",
    "leave-one-out",
    "value-zeroing",
    "rollout",
    "flow",
    "lrp",
    RANDOM,
)
"""As ``attest.experiments.readings`` has them, in its order."""
OF_READINGS = ("E1", "E11", "E12", "E14")
"""Experiments that ask which tokens matter, and so of any reading."""


def require_readings(names: tuple[str, ...]) -> None:
    """Refuse readings that do not exist.

    Raises:
        AttestError: one does not, or none is named.
    """
    for name in names or ("",):
        if name not in READINGS:
            raise AttestError(
                f"READING={name} is not known; expected some of {', '.join(READINGS)}, with commas between them."
            )


def of_reading(reading: str, wanted: list[str]) -> list[str]:
    """The experiments that take a reading in the attention's place: those asked for, or all.

    Raises:
        AttestError: the reading is not known, or an experiment asked for is on the attention itself.
    """
    if reading not in READINGS:
        raise unknown_choice("The reading", reading, READINGS, "attest evidence --run <folder> --reading {}")
    if other := [name for name in wanted if name not in OF_READINGS]:
        raise AttestError(
            f"{other[0]} is about attention itself; expected some of {', '.join(OF_READINGS)} with --reading. Type: attest "
            f"evidence --run <folder> {other[0]}"
        )
    return wanted or list(OF_READINGS)
