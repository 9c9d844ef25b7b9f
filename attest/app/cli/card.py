"""``attest card``: the section of a model card that says what a run or a trial has found about the attention.

    attest card runs/sst/jw-bilstm-additive-softmax/seed0
    attest card my-trial --into README.md

The section has the verdict, how often such a verdict is wrong, the numbers that carry it, what was run on how many texts by
which version, and how to do it again. With --into it takes the place of an earlier one in a card, or is added at the end;
everything else in the card stays as it is. Without it the section is printed. From Python, trial.push_to_hub("me/my-model")
puts it into the card on the Hub.
"""

from pathlib import Path

from attest.app.cli.main import CommandParser
from attest.core.errors import AttestError


def main(arguments: list[str]) -> int:
    typed = _parser().parse_args(arguments)
    from attest.report.card import put_into
    from attest.report.gate import finished
    from attest.runs.folder import RunFolder, write_atomically

    folder = finished(RunFolder(typed.folder))
    if typed.into is None:
        print(put_into("", folder), end="")
        return 0
    card = put_into(_read(typed.into), folder).encode()
    write_atomically(typed.into, lambda temporary: temporary.write_bytes(card))
    print(f"Card: {typed.into}")
    return 0


def _read(path: Path) -> str:
    """Return the text of a card with its own ends of lines; an empty text if there is none."""
    try:
        return path.read_bytes().decode() if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise AttestError(f"--into {path} cannot be read ({error}); expected a model card in UTF-8. Name another.") from error


def _parser() -> CommandParser:
    parser = CommandParser("attest card", __doc__)
    parser.add_argument("folder", type=Path, help="the folder of a run or of a trial")
    parser.add_argument(
        "--into", type=Path, help="a model card such as README.md, whose other lines stay as they are; or a new file"
    )
    return parser
