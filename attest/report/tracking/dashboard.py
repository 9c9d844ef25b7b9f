"""W&B workspaces of a project as plain data, one for each purpose: which panels, in which sections, over which axes;
``workspace`` converts them for W&B's library, and no other function needs a network or an account.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from attest.core.errors import AttestError, install_command
from attest.experiments.registry import EXPERIMENTS, measures
from attest.experiments.spec import Measure
from attest.report.summary import QUESTIONS, SCORES
from attest.report.tracking.loggers import ADVERSARY, is_headline

if TYPE_CHECKING:
    from wandb_workspaces.workspaces import Workspace


@dataclass(frozen=True)
class Panel:
    """A panel of words, lines over epochs or steps, bars or points that compare runs, a page, or a table."""

    kind: Literal["words", "lines", "bars", "points", "page", "table"]
    title: str
    """The title of the panel; for words, the Markdown itself."""
    metrics: tuple[str, ...]
    x: str | None = None
    """The axis of lines, or of points with one for each run."""


@dataclass(frozen=True)
class Section:
    """A section with the panels of one question."""

    name: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Template:
    """A workspace for one purpose."""

    sections: list[Section]
    by_setting: bool = True
    """Whether runs are grouped, so that the seeds of a setting are one line with a band."""
    job: str = ""
    """The type of job that is shown alone; empty for all."""


LAMBDA = "model.init_args.lam"
"""The key of λ in the configuration of an adversary."""
PURPOSES = ("run", "lambda", "runs")
"""The purposes of workspaces: one run, a sweep over λ, and many runs side by side."""


def template(purpose: str, summary: Iterable[str], curves: Iterable[str], figures: Iterable[str]) -> Template:
    """Return the workspace for one of ``PURPOSES``, for a run with these keys of its summary, curves and figures."""
    if purpose == "lambda":
        return Template([_against_lambda()], job=ADVERSARY)
    if purpose == "runs":
        return Template(_many_runs({*summary}, sorted(filter(is_headline, curves))))
    return Template(dashboard(summary, curves, figures), by_setting=False)


def _against_lambda() -> Section:
    """Return the section of adversaries, each a point over its λ."""
    shown = {f"E7/{measure.column}": measure for measure in EXPERIMENTS["E7"].measures}
    points = [Panel("points", f"E7 {measure.title}", (f"{key}/mean",), LAMBDA) for key, measure in shown.items()]
    return Section(f"E7  {QUESTIONS['E7']}", (Panel("words", _description("E7", shown), ()), *points))


def _many_runs(summary: set[str], curves: Sequence[str]) -> list[Section]:
    """Return sections that compare runs: the scores, then the first measure of every experiment."""
    first = {spec.id: spec.measures[0] for spec in EXPERIMENTS.values() if spec.measures}
    sections = [_training(summary, curves)]
    for name, measure in first.items():
        key = f"{name}/{measure.column}"
        if f"{key}/mean" in summary:
            panels = (
                Panel("words", _description(name, {key: measure}), ()),
                Panel("bars", measure.title, (f"{key}/mean",)),
                Panel("points", f"{measure.title} over accuracy", (f"{key}/mean",), "test/accuracy"),
            )
            sections.append(Section(f"{name}  {QUESTIONS[name]}", panels))
    return sections


def dashboard(summary: Iterable[str], curves: Iterable[str], figures: Iterable[str]) -> list[Section]:
    """Return the sections that show a run: the report, training, each experiment, and the figures."""
    summary, curves, figures = set(summary), sorted(filter(is_headline, curves)), sorted(figures)
    experiments = [name for name in QUESTIONS if name != "test"]
    experiments += sorted({name.split("/")[0] for name in (*summary, *figures) if name.startswith("E")} - {*QUESTIONS})
    sections = [Section("Report", (Panel("page", "Report", ("report",)),)), _training(summary, curves)]
    sections += [_experiment(name, summary, curves) for name in experiments]
    sections += [Section("Figures", (Panel("table", "Figures", ("figures",)),))] if figures else []
    return [section for section in sections if section.panels]


def _training(summary: set[str], curves: Sequence[str]) -> Section:
    losses = Panel("lines", "Loss in training", ("train/loss",), "trainer/global_step")
    scores = tuple(name for name in curves if name.startswith("validation/"))
    tests = tuple(name for name in SCORES if name in summary)
    panels = (losses, Panel("lines", "Validation", scores, "epoch"), Panel("bars", "Test", tests))
    return Section("Training and scores", tuple(panel for panel in panels if panel.metrics))


def _experiment(name: str, summary: set[str], curves: Sequence[str]) -> Section:
    shown = {key: measure for key, measure in measures().items() if key.startswith(f"{name}/") and f"{key}/mean" in summary}
    words = [Panel("words", _description(name, shown), ())] if shown else []
    bars = [Panel("bars", f"{name} {measure.title}", (f"{key}/mean",)) for key, measure in shown.items()]
    over_epochs = tuple(curve for curve in curves if curve.removesuffix("/mean").replace("/validation", "", 1) in shown)
    lines = [Panel("lines", "Over epochs, on validation", over_epochs, "epoch")] if over_epochs else []
    return Section(f"{name}  {QUESTIONS.get(name, '')}".strip(), (*words, *bars, *lines))


def _description(name: str, shown: Mapping[str, Measure]) -> str:
    """Return Markdown that says what an experiment does and how its numbers are read and misread."""
    spec = EXPERIMENTS[name]
    lines = [f"* **{measure.title}**: {measure.means} *{measure.misread}*" for measure in shown.values()]
    return "\n".join([f"**{spec.question}** {spec.does} ({spec.source}).", "", *lines])


def workspace(made: Template, entity: str, project: str, name: str) -> "Workspace":
    """Return the workspace as an object of W&B's library, whose ``save`` creates it for a user who is logged in."""
    try:
        from wandb_workspaces import workspaces
    except ModuleNotFoundError as error:
        raise AttestError(
            "W&B's library for dashboards is not installed; expected wandb-workspaces. Type: " + install_command("dashboard")
        ) from error
    drawn = [
        workspaces.Section(name=section.name, panels=[_panel(panel) for panel in section.panels], is_open=True)
        for section in made.sections
    ]
    runs = workspaces.RunsetSettings(
        groupby=[workspaces.Metric("Group")] if made.by_setting else [],
        filters=f"Metric('JobType') = '{made.job}'" if made.job else [],
    )
    return workspaces.Workspace(entity=entity, project=project, name=name, sections=drawn, runset_settings=runs)


def _panel(panel: Panel) -> Any:
    from wandb_workspaces.reports import v2 as panels

    if panel.kind == "words":
        return panels.MarkdownPanel(markdown=panel.title)
    metrics: list[Any] = list(panel.metrics)
    if panel.kind == "lines":
        return panels.LinePlot(title=panel.title, x=panel.x, y=metrics)
    if panel.kind == "points":
        x = panels.Config(LAMBDA) if panel.x == LAMBDA else panels.SummaryMetric(str(panel.x))
        return panels.ScatterPlot(title=panel.title, x=x, y=panels.SummaryMetric(metrics[0]), log_x=panel.x == LAMBDA)
    if panel.kind == "bars":
        return panels.BarPlot(title=panel.title, metrics=metrics)
    if panel.kind == "table":
        return panels.WeavePanelSummaryTable(table_name=metrics[0])
    return panels.MediaBrowser(title=panel.title, media_keys=metrics, num_columns=1)
