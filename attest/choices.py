"""The words that everyone types (``DATA=sst MODEL=bilstm SEED=1``) and the configuration files they stand for.

A choice named X with value y is the file ``configs/x/y.yaml``: adding a value, or a whole new kind of choice, needs a file
and no code.
"""

import re
from pathlib import Path

import yaml

from attest.errors import AttestError, unknown_choice

CHOICE = re.compile(r"([A-Z]+)=(.*)")
ORDER = ("TRAINER", "LOGGER", "DATA", "MODEL", "SCORING", "PROJECTION", "RECIPE", "ANALYSES")
"""Later files override earlier ones; a recipe may so change what a model or corpus set."""
SETTINGS = {"SEED": "--seed_everything={}", "PROTOCOL": "--data.init_args.protocol={}", "FORCE": "--run.force={}"}
"""Choices that stand for one option."""


def configs_folder() -> Path:
    """The shipped configuration files: beside the package in a checkout, inside it when installed from a wheel."""
    package = Path(__file__).parent
    beside = package.parent / "configs"
    return beside if beside.is_dir() else package / "configs"


def config_file(choice: str, value: str) -> Path:
    """The file that a choice stands for.

    Raises:
        AttestError: there is no such file; the message lists those there are.
    """
    folder = configs_folder() / choice.lower()
    if not folder.is_dir():
        raise AttestError(
            f"{choice}={value} is no choice; expected one of: {', '.join((*ORDER, *SETTINGS))}. "
            "Type for example: make train DATA=sst"
        )
    file = folder / f"{value}.yaml"
    if not file.is_file():
        known = [path.stem for path in folder.glob("*.yaml")]
        raise unknown_choice(choice, value, known, f"make train {choice}={{}}")
    return file


def expand(arguments: list[str]) -> list[str]:
    """Turn choices into the options they stand for; everything else stays as typed and comes later, so it wins.

    Without any ``--config`` the choices not typed take their defaults; ``RECIPE`` is then the one the model names.

    Args:
        arguments: what follows the subcommand.
    """
    matches = [(argument, CHOICE.fullmatch(argument)) for argument in arguments]
    typed = {match[1]: match[2] for _, match in matches if match and match[2]}
    rest = [argument for argument, match in matches if not match]
    settings = [SETTINGS[name].format(_as_yaml(name, typed.pop(name))) for name in list(typed) if name in SETTINGS]
    standalone = any(argument in ("-c", "--config") or argument.startswith("--config=") for argument in rest)
    files = [] if standalone and not typed else choice_files(typed)
    return [*(f"--config={file}" for file in files), *settings, *rest]


def choice_files(typed: dict[str, str]) -> list[Path]:
    """The files of a full set of choices, in the order in which they are to be merged."""
    chosen = yaml.safe_load((configs_folder() / "defaults.yaml").read_text()) | typed
    if "RECIPE" not in chosen:
        model = yaml.safe_load(config_file("MODEL", chosen["MODEL"]).read_text())
        chosen["RECIPE"] = model["run"]["recipe"]
    extra = sorted(set(chosen) - set(ORDER))
    return [config_file(name, chosen[name]) for name in (*ORDER, *extra)]


def _as_yaml(name: str, value: str) -> str:
    if name == "FORCE":
        return "true" if value not in ("0", "false") else "false"
    if name == "SEED" and not value.isdigit():
        raise AttestError(f"SEED={value} is not a seed; expected a whole number from 0. Type for example: make train SEED=0")
    return value
