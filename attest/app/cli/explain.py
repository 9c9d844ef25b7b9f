"""``attest explain``: what a trained model says about a text, with every explanation of its decision.

    attest explain --run runs/sst/jw-bilstm-additive-softmax/seed0 --text "a gorgeous , witty , seductive movie ."
    attest explain --run runs/imdb/jw-bilstm-additive-softmax/seed0 --file reviews.txt
    attest explain --run runs/trial/my-model/reviews --id 3
    attest explain --run runs/trial/my-model/reviews --id 3 --out text.svg

The command prints the explanations and writes them as a page; or, where --out ends in .svg or .png, one text as a picture that
one can share: what attention marks, and what decides. For a Transformer with attention only inside its layers, it
shows attention rollout. A file has one text on each line; blank lines are skipped. The folder of a trial has no model, so
there --id names a tested text.
"""

import re
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from attest.app.cli.main import TRUST, CommandParser, require_own
from attest.core.errors import AttestError
from attest.core.spelled import spelled
from attest.runs.folder import RunFolder
from attest.runs.identity import require_no_trial

if TYPE_CHECKING:
    from attest.report.explained_text import ExplainedText

PAGE = "explained.html"
PICTURES = {
    ".svg": re.compile(r'<svg xmlns="http://www.w3.org/2000/svg" class="attest"'),
    ".png": re.compile(r".PNG.*Software\0Attest", re.DOTALL),
}
"""How a picture that this command wrote begins, as a pattern for each file ending. Only files that match are overwritten."""


def main(arguments: list[str]) -> int:
    parser = _parser()
    typed = parser.parse_args(arguments)
    folder = RunFolder(typed.run)
    if typed.id and (typed.text or typed.file):
        raise AttestError(
            "--id was typed together with --text or --file; expected either the id of a tested text or new texts. Leave one "
            "of the options out."
        )
    if not typed.id:
        require_no_trial(folder)
        if lacking := next((file for file in (folder.best, folder.config) if not file.is_file()), None):
            raise AttestError(
                f"{lacking} does not exist; expected the folder of a trained run. Train one first: {spelled('fit')}"
            )
    from attest.report.templating import OURS

    page = typed.out or folder.path / PAGE
    require_own(page, {".html": OURS, **PICTURES})
    texts = [*typed.text, *(_lines(typed.file) if typed.file else [])]
    if not texts and not typed.id:
        parser.lacks("--text", "--file", "--id", joined=" or ")
    of_page = page.suffix.lower() == ".html"
    if not of_page and len(typed.id or texts) > 1:
        raise AttestError(
            f"--out {page} is a picture, which shows one text, and {len(typed.id or texts)} were given; expected one text, or "
            "a page. Type for example: --out explained.html"
        )
    from attest.report.explained import print_explained, write_explained  # seconds that no mistake waits for

    with folder.claimed() if typed.out is None else nullcontext():
        explained = _explained(folder, typed.id, texts, typed.trust)
        rows = [each.row for each in explained]
        if of_page:
            write_explained(page, rows, str(folder.path))
        else:
            explained[0].save(page)
    print_explained(rows)
    print(f"{'Page' if of_page else 'Picture'}: {page}")
    return 0


def _explained(folder: RunFolder, ids: list[int], texts: list[str], trusted: list[str]) -> "list[ExplainedText]":
    from attest.app.api.outcome import tested_text
    from attest.app.evaluating import LoadedRun, configuration_of
    from attest.report.explained_text import ExplainedText
    from attest.report.findings import Findings
    from attest.report.pictures import source_of
    from attest.runs.belonging import finished

    found = Findings(finished(folder) if ids else folder)
    if ids:
        return [tested_text(found, identity) for identity in ids]

    run = LoadedRun(configuration_of(folder, trusted), folder)
    with run.prepared():
        rows = [run.explained(number, text) for number, text in enumerate(texts, start=1)]
    return [ExplainedText(row, found.called, source_of(found)) for row in rows]


def _parser() -> CommandParser:
    parser = CommandParser("attest explain", __doc__)
    parser.add_argument(
        "--run", type=Path, required=True, help="a run folder; the command explains the decisions of its best checkpoint"
    )
    parser.add_argument("--text", action="append", default=[], help="a text to explain; may be given several times")
    parser.add_argument(
        "--id", type=int, action="append", default=[], help="the id of a text that the run tested; may be given several times"
    )
    parser.add_argument("--file", type=Path, help="a UTF-8 file with one text on each line")
    parser.add_argument("--trust", action="append", default=[], metavar="MODULE", help=TRUST)
    parser.add_argument(
        "--out",
        type=Path,
        help=f"write the page (.html) or a picture (.svg, .png) to this file; by default {PAGE} in the run folder",
    )
    return parser


def _lines(file: Path) -> list[str]:
    try:
        return [line for line in file.read_text(encoding="utf-8-sig").split("\n") if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise AttestError(f"{file} cannot be read ({error}); expected a UTF-8 file with one text on each line.") from error
