"""The command ``attest``: its subcommands, their parser, and the check of the file that ``--out`` names.

If the user can correct a mistake, the command prints a message and ends with exit code 2 (``attest gate``: 64). A subcommand
is imported only when it is typed, so that it does not slow down the others.
"""

import argparse
import gc
import io
import os
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from attest.core.bounds import require_bounds
from attest.core.ending import end_with_parent
from attest.core.errors import AttestError, as_user_error, unknown_choice
from attest.core.spelled import TARGETS, spelled
from attest.runs.choices import plain_help
from attest.runs.versions import version_line

DONE, FAILED, MISTAKE = 0, 1, 2
USAGE = 64
"""The exit code after a mistake of the user in ``attest gate``, where 2 means undecided; ``EX_USAGE`` of sysexits.h."""


class Command(NamedTuple):
    """A subcommand of ``attest``."""

    does: str
    """One line for the list of subcommands in the help: what this one does."""
    words: bool = False
    """Whether the command takes choices such as ``DATA=sst`` and the options of ``attest fit``. If so, the docstring of the
    command's module is its help."""
    mistaken: int = MISTAKE
    """The command's exit code after a mistake of the user."""


OF_LIGHTNING = ("fit", "test", "validate")
"""The subcommands that LightningCLI has, too. The module of ``attest fit`` runs all three: its ``main`` takes the name of the
subcommand as first argument."""
COMMANDS = {
    "demo": Command("see a verdict in half a minute: a small model that comes with Attest, no network, no data"),
    "fit": Command("train a model, gather the evidence, write the report: DATA=sst MODEL=bilstm SEED=0"),
    "test": Command("score a trained run on the test split"),
    "validate": Command("score a trained run on the validation split"),
    "evidence": Command("compute experiments for a run or a checkpoint: --run <folder> E3 E12"),
    "explain": Command('explain what a run says about a text: --run <folder> --text "a fine film"'),
    "adversarial": Command("train adversaries of a run (E7): DATA=sst LAMBDA=1e-3", words=True),
    "controls": Command("compare a run with uniform attention, other seeds and guides (E4, E5, E6)", words=True),
    "keys": Command("attack the keys of a Transformer (E9): DATA=sst MODEL=transformer-dr", words=True),
    "roar": Command("erase what an explanation ranks first and train again: DATA=sst READING=attention STEPS=10", words=True),
    "report": Command("write the report of a run, or one that compares several runs"),
    "gate": Command('pass or fail in CI: <run or trial> --require "tokens=yes"', mistaken=USAGE),
    "card": Command("write the section for a model card: <run or trial> --into README.md"),
    "table": Command("write the numbers of runs as Markdown, LaTeX or CSV"),
    "reproduce": Command("reproduce a published table, our numbers beside theirs: TABLE=jw-2 DATA=sst"),
    "trial": Command("put a Hugging Face Transformer of yours on trial: --model <folder> --data <file>"),
    "sources": Command('say which sentences an answer comes from: --model <folder> --context doc.txt --question "…"'),
    "sync": Command("send offline runs to W&B, also from a copy of their folders: <run folder>"),
    "doctor": Command("list what is installed, and what would stop a run"),
}

TORCHRUN = "TORCHELASTIC_RUN_ID"
"""An environment variable that torchrun sets in each process that it starts. It tells whether this process was started by
torchrun."""
FIRST_RANK = "ATTEST_FIRST_RANK_PID"
"""The environment variable in which rank 0 stores its process id. A rank that rank 0 starts reads it, to find out whether rank
0 still runs."""
STOPPED_BY_SIGINT, STOPPED_BY_SIGPIPE, STOPPED_BY_SIGTERM = 130, 141, 143
"""The exit codes after a signal: 128 plus the number of the signal, as in shells."""
EXIT_CODES = {
    DONE: "done; gate: every requirement passes",
    FAILED: (
        "an error in Attest or in a library, with its traceback; doctor: something would stop a run; gate: a requirement "
        "fails; reproduce: runs are not there; sync: a run was not sent"
    ),
    MISTAKE: (
        "a mistake that you can correct: a message on standard error says what was found, what is expected and what to type; "
        "gate: no requirement fails, and one is undecided"
    ),
    USAGE: "gate: a mistake that you can correct",
    STOPPED_BY_SIGINT: "stopped by Ctrl-C: type the same command to continue",
    STOPPED_BY_SIGPIPE: "stopped, because the reader of its output has gone: type the same command to continue",
    STOPPED_BY_SIGTERM: "stopped by SIGTERM: type the same command to continue",
}
"""The meaning of each exit code, for all commands together; where a command differs, it is named. For the help and the page of
commands."""


NEW_OBJECTS = 10_000
"""After so many new objects Python looks for garbage, in place of 700. What a command imports is hundreds of thousands of
objects and no garbage; to look through them again and again takes a tenth of the time of a short command."""


def main(arguments: list[str] | None = None) -> int:
    """Run ``attest`` and return the exit code."""
    if arguments is None:  # the process is ours alone
        gc.set_threshold(NEW_OBJECTS)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # of characters that a terminal lacks
    try:
        code = _run(sys.argv[1:] if arguments is None else arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader has gone, as that of `attest table runs | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is flushed when Python ends
        print("attest: stopped, because a reader of its output has gone; type the same command to continue.", file=sys.stderr)
        return STOPPED_BY_SIGPIPE


def _run(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        print(version_line())
        return 0
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(overview())
        return 0
    end_with_first_rank()
    try:
        name, *rest = arguments
        _require_text(arguments)
        if name in TARGETS.values() and name not in COMMANDS:
            command = next(each for each, target in TARGETS.items() if target == name)
            raise AttestError(f"{name} is a target of make; expected a command of attest. Type: attest {command}")
        if name not in COMMANDS:
            raise unknown_choice("The command", name, COMMANDS, "attest {}")
        of_name, module = COMMANDS[name], import_module(module_of(name))
        if of_name.words and {"-h", "--help"} & {*rest}:
            print(plain_help(module.__doc__))
            return 0
        return int(module.main(arguments if name in OF_LIGHTNING else rest))
    except Exception as error:
        if (mistake := as_user_error(error)) is None:
            raise
        print(f"attest: {mistake}", file=sys.stderr)
        return COMMANDS[arguments[0]].mistaken if arguments[0] in COMMANDS else MISTAKE
    except (SystemExit, KeyboardInterrupt) as stop:
        if type(stop).__name__ not in ("SIGTERMException", "KeyboardInterrupt"):  # the first is Lightning's
            raise
        print("attest: stopped; type the same command to continue.", file=sys.stderr)
        return STOPPED_BY_SIGINT if isinstance(stop, KeyboardInterrupt) else STOPPED_BY_SIGTERM
    finally:
        if wandb := sys.modules.get("wandb"):
            wandb.finish()  # a second run in this process must not write into the first one's file


def _require_text(arguments: Sequence[str]) -> None:
    """Refuse arguments with bytes that are not UTF-8, which Python hands on as halves of characters."""
    if found := next((each for each in arguments if not each.isprintable() and _is_broken(each)), None):
        raise AttestError(
            f"the argument {found!a} contains bytes that are not UTF-8; expected text in UTF-8. Rename such a file, or "
            "set the terminal to UTF-8."
        )


def _is_broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def module_of(name: str) -> str:
    """Return the name of the module that runs a subcommand of ``attest``."""
    return f"attest.app.cli.{'fit' if name in OF_LIGHTNING else name}"


def end_with_first_rank() -> None:
    """Make the Linux kernel end this process when the process of the first rank ends."""
    if os.environ.get("LOCAL_RANK", "0") == "0":
        os.environ[FIRST_RANK] = str(os.getpid())
    elif sys.platform == "linux" and TORCHRUN not in os.environ:  # torchrun starts all ranks, none another
        end_with_parent()
        if os.environ.get(FIRST_RANK, str(os.getppid())) != str(os.getppid()):
            sys.exit("attest: the process that started this one has ended")  # before it could be heard of


def overview() -> str:
    """Return the text that ``attest --help`` prints."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {command.does}" for name, command in COMMANDS.items()]
    return "\n".join(
        [
            "usage: attest <command> …",
            "",
            "Attention on trial: may I read the attention of this model as an explanation?",
            "",
            *lines,
            "",
            "A choice such as DATA=sst or MODEL=bilstm reads a file below configs/. Any option of LightningCLI may follow the",
            "choices. attest <command> --help lists the options of a command. attest --version prints the installed versions.",
            "",
            "Exit codes:",
            "",
            *(textwrap.fill(f"{code:>5}  {means}", 120, subsequent_indent=" " * 7) for code, means in EXIT_CODES.items()),
        ]
    )


TRUST = (
    "a Python module with classes that the run uses; name only a module that you trust, because Attest runs its code; "
    "may be given several times"
)


REQUIRED = "the following arguments are required: "
"""The beginning of argparse's message about missing arguments, by which this message is recognised."""
EXAMPLES = 2
"""The largest number of example commands that an error message quotes from the help of a command, which has all of them."""


class CommandParser(argparse.ArgumentParser):
    """A command-line parser that accepts no shortened options and raises an AttestError for every mistake."""

    def __init__(self, command: str, description: str | None) -> None:
        super().__init__(
            prog=command,
            description=plain_help(description),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse the arguments as argparse does, and refuse numbers that are out of bounds."""
        typed, rest = super().parse_known_args(args, namespace)
        require_bounds(vars(typed), lambda name: f"--{name.replace('_', '-')}")
        return typed, rest

    def format_help(self) -> str:
        """Return the help text of a command, with the usage at its end."""
        usage = self.format_usage()
        return f"{super().format_help().removeprefix(usage).strip()}\n\n{usage}"

    def error(self, message: str) -> NoReturn:
        """Raise an AttestError for the mistake that argparse found."""
        if message.startswith(REQUIRED):
            self.lacks(*message.removeprefix(REQUIRED).split(", "))
        options = {option.lstrip("-"): option for action in self._actions for option in action.option_strings}
        typed = message.removeprefix("unrecognized arguments: ").replace("=", " ").partition(" ")[0]
        close = get_close_matches(typed.lstrip("-"), options, 1) if typed.startswith("--") else []
        near = f" The nearest: {options[close[0]]}." if close else ""
        raise self._with_examples(f"{message}.{near}")

    def lacks(self, *names: str, joined: str = " and ") -> NoReturn:
        """Raise an AttestError that says what each of the missing arguments is.

        Args:
            names: the arguments as argparse calls them, ``--model`` or ``folder``.
        """
        helps = {name: action.help for action in self._actions for name in (*action.option_strings, action.dest)}
        shown = {name: name if name.startswith("-") else f"<{name}>" for name in names}
        said = joined.join(f"{shown[name]} ({str(helps[name]).replace('%%', '%')})" for name in names)
        raise self._with_examples(f"{self.prog} lacks {said}.")

    def _with_examples(self, sentence: str) -> AttestError:
        return with_examples(self.prog.removeprefix("attest "), self.description, sentence)


def with_examples(command: str, description: str | None, sentence: str) -> AttestError:
    """Return the error for a command that says too little: a sentence, two examples and how to see the help."""
    typed = re.findall(rf"^    attest {command} (.*)", plain_help(description), re.MULTILINE)
    examples = [f"    {spelled(command, arguments)}" for arguments in typed[:EXAMPLES]]
    return AttestError(
        "\n".join([f"{sentence} Type for example:", *examples, f"{spelled(command, '--help')} lists all options."])
    )


def require_own(path: Path, ours: Mapping[str, re.Pattern[str]]) -> None:
    """Refuse an output path that has a wrong suffix, is a folder, or is an existing file that Attest has not written.

    Args:
        ours: for each allowed suffix, a pattern that matches the beginning of a file that Attest writes.
    """
    if path.is_dir():
        raise AttestError(
            f"--out {path} is a folder; expected a file. Type for example: --out {path / 'out'}{next(iter(ours))}"
        )
    if path.suffix.lower() not in ours:
        raise AttestError(
            f"--out {path} ends in {path.suffix or 'no suffix'}; expected {' or '.join(ours)}. "
            f"Type for example: --out {path.with_suffix(next(iter(ours)))}"
        )
    if path.is_file() and not ours[path.suffix.lower()].match(path.read_bytes()[:2000].decode("utf-8", errors="replace")):
        raise AttestError(
            f"--out {path} already exists and was not written by this command; expected a new file, or a file that this "
            "command wrote. Choose another name."
        )


if __name__ == "__main__":
    sys.exit(main())
