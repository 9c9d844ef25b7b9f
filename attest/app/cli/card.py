"""``attest card``: the section of a model card about the attention of a run or a trial.

    attest card runs/sst/jw-bilstm-additive-softmax/seed0
    attest card my-trial --into README.md

The section has the verdict, what to read instead, of which model and texts it is, how often such an answer is wrong, the
version of Attest and the command. --into replaces the earlier section in a card, or adds a section at the end, and
keeps the rest of the card; the picture of all readings, attest-readings.svg, is written beside the card. Without --into the
command prints the section, without the picture. From Python, trial.push_to_hub("me/my-model") writes both to the Hub.
"""

from pathlib import Path

from attest.app.cli.main import CommandParser
from attest.core.errors import AttestError

SUFFIXES = (".md", ".markdown")
"""The endings of the files into which ``attest card`` writes a section about attention; other files are refused."""


def main(arguments: list[str]) -> int:
    parser = CommandParser("attest card", __doc__)
    parser.add_argument("folder", type=Path, help="the folder of a run or of a trial")
    parser.add_argument(
        "--into",
        type=Path,
        help="write the section about attention into this model card, such as README.md, or into a new file",
    )
    typed = parser.parse_args(arguments)
    from attest.app.cli.explain import PICTURES
    from attest.report.card import PICTURE, picture_of, put_into
    from attest.report.findings import Findings
    from attest.runs.belonging import finished
    from attest.runs.folder import RunFolder, write_atomically

    found = Findings(finished(RunFolder(typed.folder)))
    if typed.into is None:
        print(put_into("", found), end="")
        return 0
    if typed.into.suffix.lower() not in SUFFIXES and not typed.into.is_dir():
        raise AttestError(
            f"--into {typed.into} ends in {typed.into.suffix or 'no suffix'}; expected a model card in Markdown. Type for "
            f"example: --into {typed.into.with_name('README.md')}"
        )
    try:
        card = typed.into.read_bytes().decode() if typed.into.exists() else ""  # with its line endings
    except (OSError, UnicodeDecodeError) as error:
        raise AttestError(
            f"--into {typed.into} cannot be read ({error}); expected a model card in UTF-8. Name another file."
        ) from error
    picture, drawn = typed.into.with_name(PICTURE), picture_of(found)
    if drawn is not None and picture.exists() and not PICTURES[".svg"].match(picture.read_text("utf-8", errors="replace")):
        raise AttestError(
            f"{picture} already exists and was not written by Attest; expected no such file, because the picture of the card "
            "gets this name. Rename it."
        )
    card = put_into(card, found, PICTURE)
    if drawn is not None:
        drawn.save(picture)
    write_atomically(typed.into, lambda temporary: temporary.write_bytes(card.encode()))
    print(f"Card: {typed.into}")
    return 0
