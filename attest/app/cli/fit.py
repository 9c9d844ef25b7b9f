"""``attest fit``, ``attest validate`` and ``attest test``: the commands of LightningCLI, with choices such as ``DATA=sst``."""

import textwrap
from pathlib import Path

from attest.app.cli.main import COMMANDS
from attest.core.catalogue import require_source
from attest.runs.asked import AskedRun, RunSettings
from attest.runs.choices import default_choices, file_choices, takes_parameter, values_of

MEANING = {
    "DATA": "the corpus",
    "MODEL": "the network",
    "SCORING": "how attention scores a token",
    "PROJECTION": "how scores become weights",
    "RECIPE": "how the model is trained; each model has a default",
    "EXPERIMENTS": "which evidence is gathered",
    "LOGGER": "where numbers are logged",
    "TRAINER": "the device",
    "CUT": "a small part of the corpus, to test that everything runs",
    "EMBEDDINGS": "the first word vectors; also random:<dimensions>, or a file of vectors",
}
"""For the help of ``attest fit``: what each choice sets, such as ``DATA`` in ``DATA=sst``, in the order in which they are
listed."""
WIDTH, INDENT = 110, 14
HELP, ALL = ("-h", "--help"), "all"
"""The first: the options that print the help of a command. The second: the word after them that adds the options of
LightningCLI, which fill several screens."""


def choices_help(command: str) -> str:
    """Return the help text of a command, with an example and a paragraph about each choice, such as ``MODEL``."""
    order = sorted(file_choices(), key=[*MEANING, *file_choices()].index)
    return "\n".join(
        [
            f"attest {command}: {COMMANDS[command].does.partition(':')[0]}.",
            "",
            f"    attest {command} DATA=sst MODEL=bilstm PROJECTION=sparsemax SEED=1",
            "",
            "Each choice reads a file below configs/:",
            "",
            *map(_paragraph, order),
            _filled("SEED", "a whole number from 0, which fixes every random draw (0)"),
            _filled("EPOCHS", "the number of epochs, in place of that of the recipe"),
            _filled("BATCH", "the number of texts in a batch, in place of that of the recipe"),
            _filled("LR", "the learning rate, in place of that of the recipe"),
            _filled("PROTOCOL", "how a published corpus is filtered and split: jw-current | jw-paper | plain"),
            _filled("FORCE", "1 deletes the run and starts again (0)"),
            "",
            f"attest {command} --help {ALL} lists the options of Lightning and of Attest, which follow the choices.",
        ]
    )


def _paragraph(choice: str) -> str:
    values = " | ".join(f"{value}:<number>" if takes_parameter(choice, value) else value for value in values_of(choice))
    default = default_choices().get(choice)
    meaning = f"{MEANING[choice]}: " if choice in MEANING else ""
    return _filled(choice, f"{meaning}{values}{f' ({default})' if default else ''}")


def _filled(choice: str, text: str) -> str:
    lines = textwrap.wrap(text, WIDTH - INDENT, break_on_hyphens=False)
    return textwrap.indent("\n".join(lines), " " * INDENT).replace(" " * INDENT, f"  {choice:<{INDENT - 2}}", 1)


def main(arguments: list[str]) -> int:
    command, *words = arguments
    if asks_help := not {*HELP}.isdisjoint(words):
        print(choices_help(command), flush=True)
    if asks_help and ALL not in words:
        return 0
    words = [word for word in words if not (asks_help and word == ALL)]
    asked = AskedRun.of(words)  # a mistyped choice is told before the imports below, which take seconds
    _require_source(asked)
    from attest.app.configured import ConfiguredRun
    from attest.app.training import score, train

    run = ConfiguredRun(command, asked)
    train(run) if command == "fit" else score(run)
    return 0


def _require_source(asked: AskedRun) -> None:
    """Refuse a corpus that cannot be had, before the imports that take seconds. A run that is complete needs no corpus."""
    run = asked.settings.get("run")
    if isinstance(run, dict):
        corpus = str(run.get("data"))
        if not Path(str(run.get("root", RunSettings.root)), corpus).exists():
            require_source(corpus)
