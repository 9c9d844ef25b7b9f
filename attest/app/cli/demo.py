"""``attest demo``: a small Transformer that comes with Attest, on trial. It needs no network and no data.

    attest demo --out runs/demo

The model is a BERT of two layers. It has learned to tell praise from blame in reviews such as "the ending is not dreadful", in
which "not" reverses the opinion (in a clone, python -m docs.demo trains it again). The demo writes the report of the trial and
a picture of one text, and ends with the command for a model of yours.
"""

from pathlib import Path

from attest.app.cli.main import CommandParser
from attest.core.errors import needing_transformers

MODEL = Path(__file__).parents[1] / "demo" / "small-bert"
TEXTS = MODEL.with_name("reviews.csv")
PICTURE = "text.svg"
YOURS = "attest trial --model <a folder, or an id on the Hub> --data reviews.csv"


def main(arguments: list[str]) -> int:
    parser = CommandParser("attest demo", __doc__)
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("runs/demo"),
        help="the folder of the report; by default runs/demo; the same demo is written anew",
    )
    out = parser.parse_args(arguments).out
    with needing_transformers():
        from attest.app.cli import trial  # seconds that no mistake waits for
    from attest.app.api.outcome import tested_text
    from attest.report.findings import Findings
    from attest.report.shown import shown_texts, texts_of
    from attest.runs.folder import RunFolder

    print("A small Transformer that comes with Attest goes on trial; this takes about half a minute.", flush=True)
    columns = ["--text-column", "text", "--label-column", "label"]
    trial.main(["--model", str(MODEL), "--data", str(TEXTS), *columns, "--out", str(out)])
    found = Findings(RunFolder(out))
    tested_text(found, shown_texts(texts_of(found))[0].identity).save(out / PICTURE)
    print("\n".join(last_lines(out)), flush=True)
    return 0


def last_lines(out: Path) -> list[str]:
    """Return what the demo says last: where its picture is, and what to type for a model of one's own."""
    return [f"Picture:    {out / PICTURE}", f"Your model: {YOURS}"]
