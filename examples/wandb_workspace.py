"""Make a W&B workspace for the project of a run: which panels, in which sections, over which axes.

    python examples/wandb_workspace.py runs/sst/jw-bilstm-additive-softmax/seed0
    python examples/wandb_workspace.py runs/sst/jw-bilstm-additive-softmax/seed0 --purpose runs --show

``make dashboard RUN=<run folder>`` calls it. ``run`` shows each run by itself, ``lambda`` trained adversaries over their λ
(for the folder of an adversary), and ``runs`` many settings side by side, each with its seeds as one. ``--show`` prints what
the workspace would hold; all else needs ``wandb login`` and ``pip install '.[dashboard]'``.
"""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import wandb
from wandb_workspaces import workspaces
from wandb_workspaces.reports import v2 as panels

from attest.callbacks.experiment import RUNNING
from attest.experiments.registry import EXPERIMENTS, measures
from attest.experiments.spec import Column
from attest.report.findings import Findings
from attest.report.illustrations import illustrations
from attest.report.summary import QUESTIONS, SCORES
from attest.report.tracking.loggers import is_headline
from attest.report.tracking.wandb_report import logged_in, of_verdicts
from attest.runs.folder import RunFolder


@dataclass(frozen=True)
class Panel:
    """A panel of words, lines over epochs or steps, bars, points or parallel axes over runs, a page, a picture, or a table."""

    kind: Literal["words", "lines", "bars", "points", "parallel", "page", "picture", "table"]
    title: str
    """The title of the panel; for words, the Markdown itself."""
    metrics: tuple[str, ...]
    x: str | None = None
    """The axis of lines, or of points with one for each run; for parallel axes the choice that is the first of them."""


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
PROJECTION = "run.projection"
"""The key of the projection in the configuration of a run."""
PURPOSES = {
    "run": "Attest: attention on trial",
    "lambda": "Attest: adversaries over λ",
    "runs": "Attest: settings side by side",
}
"""The names of the workspaces, by purpose."""


SHARES = tuple(f"verdict/tokens/{whose}share" for whose in ("", "recommended/", "random/"))
"""The keys of the shares of texts in which attention, the recommended reading and a random order point at what decides."""


def logged(folder: RunFolder) -> tuple[set[str], set[str], list[str]]:
    """Return the keys of a run's summary, curves and figures, without numbers that are undefined: W&B has none of them."""
    found = Findings(folder)
    known = found.summary | of_verdicts(found.summary.get("verdict", {}))
    known.pop("verdict", None)
    summary = {name for name, value in known.items() if value is not None}
    curves = {name for epoch in found.curves for name, value in epoch.items() if value is not None}
    return summary, curves, [figure.key for figure in illustrations(found)]


def template(purpose: str, summary: Iterable[str], curves: Iterable[str], figures: Iterable[str]) -> Template:
    """Return the workspace for one of ``PURPOSES``, for a run with these keys of its summary, curves and figures."""
    if purpose == "lambda":
        return Template([_against_lambda({*summary})], job="adversary")
    if purpose == "runs":
        return Template(_many_runs({*summary}, sorted(filter(is_headline, curves))))
    return Template(dashboard(summary, curves, figures), by_setting=False)


def _against_lambda(summary: set[str]) -> Section:
    """Return the section of adversaries, each a point over its λ and a line across λ and all that it reaches."""
    shown = {f"E7/{measure.name}": measure for measure in EXPERIMENTS["E7"].measures}
    shown = {key: measure for key, measure in shown.items() if f"{key}/mean" in summary}
    if not shown:
        raise SystemExit("This run has no numbers of E7. Type the folder of an adversary: <run folder>/adversarial/<name>")
    points = [Panel("points", f"E7 {measure.title}", (f"{key}/mean",), LAMBDA) for key, measure in shown.items()]
    reached = (*(f"{key}/mean" for key in shown), *(name for name in SCORES if name in summary))
    across = Panel("parallel", "λ and what it reaches", reached, LAMBDA)
    return Section(f"E7  {QUESTIONS['E7']}", (Panel("words", _description("E7", shown), ()), across, *points))


def _many_runs(summary: set[str], curves: Sequence[str]) -> list[Section]:
    """Return sections that compare runs: the scores, then the first measure of every experiment."""
    first = {spec.id: spec.measures[0] for spec in EXPERIMENTS.values() if spec.measures}
    reached = [*SCORES, *(f"{name}/{measure.name}/mean" for name, measure in first.items())]
    across = Panel("parallel", "Projection and what it reaches", tuple(key for key in reached if key in summary), PROJECTION)
    sections = [_training(summary, curves), Section("Projections", (across,))]
    for name, measure in first.items():
        key = f"{name}/{measure.name}"
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
    verdict = tuple(name for name in SHARES if name in summary)
    sections = [
        Section("Verdict", (Panel("bars", "Share of texts", verdict), Panel("table", "Texts", ("texts",))) if verdict else ()),
        Section("Report", (Panel("page", "Report", ("report",)),)),
        _training(summary, curves),
    ]
    sections += [_experiment(name, summary, curves) for name in experiments]
    sections.append(Section("Figures", tuple(Panel("picture", key, (f"figures/{key}",)) for key in figures)))
    return [section for section in sections if section.panels]


def _training(summary: set[str], curves: Sequence[str]) -> Section:
    losses = Panel("lines", "Loss in training", ("train/loss",), "trainer/global_step")
    running = tuple(name for name in curves if name.startswith(f"{RUNNING}/") and name != f"{RUNNING}/n")
    shares = Panel("lines", "Share of texts in which attention points at what decides, on validation", running, "epoch")
    scores = tuple(name for name in curves if name.startswith("validation/"))
    tests = tuple(name for name in SCORES if name in summary)
    panels = (losses, Panel("lines", "Validation", scores, "epoch"), shares, Panel("bars", "Test", tests))
    return Section("Training and scores", tuple(panel for panel in panels if panel.metrics))


def _experiment(name: str, summary: set[str], curves: Sequence[str]) -> Section:
    shown = {key: measure for key, measure in measures().items() if key.startswith(f"{name}/") and f"{key}/mean" in summary}
    words = [Panel("words", _description(name, shown), ())] if shown else []
    bars = [Panel("bars", f"{name} {measure.title}", (f"{key}/mean",)) for key, measure in shown.items()]
    over_epochs = tuple(curve for curve in curves if curve.removesuffix("/mean").replace("/validation", "", 1) in shown)
    lines = [Panel("lines", "Over epochs, on validation", over_epochs, "epoch")] if over_epochs else []
    return Section(f"{name}  {QUESTIONS.get(name, '')}".strip(), (*words, *bars, *lines))


def _description(name: str, shown: Mapping[str, Column]) -> str:
    """Return Markdown that says what an experiment does and how its numbers are read and misread."""
    spec = EXPERIMENTS[name]
    lines = [f"* **{measure.title}**: {measure.means} *{measure.misread}*" for measure in shown.values()]
    return "\n".join([f"**{spec.question}** {spec.does} ({spec.source}).", "", *lines])


def workspace(made: Template, entity: str, project: str, name: str) -> workspaces.Workspace:
    """Return the workspace as an object of W&B's library, whose ``save`` creates it for a user who is logged in."""
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
    if panel.kind == "words":
        return panels.MarkdownPanel(markdown=panel.title)
    metrics: list[Any] = list(panel.metrics)
    if panel.kind == "lines":
        return panels.LinePlot(title=panel.title, x=panel.x, y=metrics)
    if panel.kind == "points":
        x = panels.Config(LAMBDA) if panel.x == LAMBDA else panels.SummaryMetric(str(panel.x))
        return panels.ScatterPlot(title=panel.title, x=x, y=panels.SummaryMetric(metrics[0]), log_x=panel.x == LAMBDA)
    if panel.kind == "parallel":
        first = panels.ParallelCoordinatesPlotColumn(metric=panels.Config(str(panel.x)), log=panel.x == LAMBDA)
        others = [panels.ParallelCoordinatesPlotColumn(metric=panels.SummaryMetric(metric)) for metric in metrics]
        return panels.ParallelCoordinatesPlot(title=panel.title, columns=[first, *others])
    if panel.kind == "bars":
        return panels.BarPlot(title=panel.title, metrics=metrics)
    if panel.kind == "table":
        return panels.WeavePanelSummaryTable(table_name=metrics[0])
    return panels.MediaBrowser(title=panel.title, media_keys=metrics, num_columns=1)


def main(arguments: Sequence[str]) -> None:
    """Make the workspace, or print its sections and panels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="a finished run; its experiments become sections")
    parser.add_argument("--project", default="attest", help="the W&B project")
    parser.add_argument("--purpose", choices=tuple(PURPOSES), default="run", help="what the workspace is for")
    parser.add_argument("--show", action="store_true", help="print the sections and panels and create nothing")
    typed = parser.parse_args(arguments)
    folder = RunFolder(typed.run)
    if not folder.summary.is_file():
        raise SystemExit(
            f"{typed.run} is not the folder of a finished run; expected one with summary.json, as make train writes."
        )
    made = template(typed.purpose, *logged(folder))
    if not typed.show and not logged_in():
        raise SystemExit(
            "Nobody is logged in to W&B. Type wandb login first, or add --show (make dashboard SHOW=1) to see it here."
        )
    if not typed.show:
        entity = wandb.Api().default_entity or ""
        print(workspace(made, entity, typed.project, PURPOSES[typed.purpose]).save().url)
        return
    for section in made.sections:
        print(section.name)
        for panel in section.panels:
            print(f"  {panel.kind:<9}{panel.title}: {', '.join(panel.metrics)}")


if __name__ == "__main__":
    main(sys.argv[1:])
