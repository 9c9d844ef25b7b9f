"""Write ``report.html``, a self-contained page that opens from disk."""

from collections.abc import Sequence
from pathlib import Path

from attest.report.figures import Illustration, save_figures
from attest.report.findings import Findings
from attest.report.head import head
from attest.report.illustrations import illustrations
from attest.report.pictures import strip_file
from attest.report.sections import Asked, sections
from attest.report.templating import render
from attest.runs.folder import write_text


def write_report(found: Findings, figures: Sequence[Illustration] | None = None, alone: Path | None = None) -> None:
    """Write the report of one run and its figures from the contents of its folder.

    Args:
        figures: the result of ``illustrations``; None to compute it here.
        alone: the path of a page that is written without figure files; None to write page and figures into the run folder.
    """
    asked = Asked(found, illustrations(found) if figures is None else figures, beside=alone is None)
    if asked.beside:
        save_figures(found.folder, asked.figures, strip_file(found))
    page = render("report.html", name=found.name, head=head(asked), sections=sections(asked))
    write_text(found.folder.report if alone is None else alone, page)
