"""Write what `make train` says at its end into README.md and docs/tutorial.md.

python -m docs.quoted            # after make train
python -m docs.quoted --check    # exit code 1 where a page says something else

The check lets numbers differ: another processor rounds otherwise, and a text or two of 160 may then be measured otherwise.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from attest.report.findings import Findings
from attest.runs.folder import RunFolder

ROOT = Path(__file__).parents[1]
TRAINED = RunFolder(Path("runs/planted/jw-bilstm-additive-softmax/seed0"))
PAGES = ("README.md", "docs/tutorial.md")
NUMBER = re.compile(r"\d+(\.\d+)?")
BLOCK = re.compile(r"(?<=```\n)Run folder: .*?(?=```)", flags=re.DOTALL)


def last_lines(folder: RunFolder) -> str:
    """Return the last lines of the command that trained a run."""
    verdicts = "".join(f"Verdict:    {line}\n" for line in Findings(folder).sentences)
    return f"Run folder: {folder.path}\nReport:     {folder.report}\n{verdicts}"


def main(arguments: Sequence[str]) -> int:
    """Write the lines into the block of each page that begins as they do, or look whether they stand there."""
    said, wrong = last_lines(TRAINED), 0
    for name in PAGES:
        page = ROOT / name
        was = page.read_text(encoding="utf-8")
        now = BLOCK.sub(lambda _: said, was)
        if arguments == ["--check"] and NUMBER.sub("#", was) != NUMBER.sub("#", now):
            print(f"{name} does not quote what make train says: {said}Type: python -m docs.quoted")
            wrong = 1
        elif was != now and arguments != ["--check"]:
            page.write_text(now, encoding="utf-8")
    return wrong


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
