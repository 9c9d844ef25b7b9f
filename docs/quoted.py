"""Write what `make demo` and `make train` say at their end into README.md and docs/tutorial.md.

python -m docs.quoted            # after make demo and make train
python -m docs.quoted --check    # exit code 1 where a page says something else

The check lets numbers and the text that is shown differ: another processor rounds otherwise, and a text or two of 160 may then
be measured otherwise.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from attest.app.cli import demo
from attest.report.findings import Findings
from attest.report.shown import terminal_lines
from attest.runs.folder import RunFolder

ROOT = Path(__file__).parents[1]
DEMO = RunFolder(Path("runs/demo"))
TRAINED = RunFolder(Path("runs/planted/jw-bilstm-additive-softmax/seed0"))
PAGES = ("README.md", "docs/tutorial.md")
VARIES = re.compile(r"\d+(\.\d+)?|(?<=^Attention:).*|(?<=^Marked:).*|(?<=^Decides:).*", flags=re.MULTILINE)
BLOCK = re.compile(r"(?<=```\n)(Run folder|Folder): .*?(?=```)", flags=re.DOTALL)


def last_lines(named: str) -> str:
    """Return the last lines of the demo, whose block begins with ``Folder``, or of the command that trained a run."""
    folder = DEMO if named == "Folder" else TRAINED
    lines = [f"{named + ':':<12}{folder.path}", f"Report:     {folder.report}", *terminal_lines(Findings(folder))]
    lines += demo.last_lines(folder.path) if folder is DEMO else []
    return "".join(f"{line}\n" for line in lines)


def main(arguments: Sequence[str]) -> int:
    """Write the lines into the block of each page that begins as they do, or look whether they stand there."""
    wrong = 0
    for name in PAGES:
        page = ROOT / name
        was = page.read_text(encoding="utf-8")
        now = BLOCK.sub(lambda block: last_lines(block[1]), was)
        if arguments == ["--check"] and VARIES.sub("#", was) != VARIES.sub("#", now):
            print(f"{name} does not quote what make demo and make train say. Type: python -m docs.quoted")
            wrong = 1
        elif was != now and arguments != ["--check"]:
            page.write_text(now, encoding="utf-8")
    return wrong


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
