"""``attest dashboard``: a W&B workspace for the project of a run, for a user who is logged in.

    attest dashboard --run runs/sst/jw-bilstm-additive-softmax/seed0
    attest dashboard --run runs/sst/jw-bilstm-additive-softmax/seed0 --purpose runs

The workspace shows the experiments of the run. ``--purpose run`` shows each run by itself, ``lambda`` trained adversaries over
their λ, and ``runs`` many settings side by side, each with its seeds as one. ``--show`` prints what it would hold.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attest.app.cli.main import CommandParser
from attest.core.errors import AttestError
from attest.runs.folder import RunFolder, read_json
from attest.runs.identity import require_no_trial

if TYPE_CHECKING:
    from attest.report.tracking.dashboard import Section

NAMES = {
    "run": "Attest: attention on trial",
    "lambda": "Attest: adversaries over λ",
    "runs": "Attest: settings side by side",
}
"""The names of the workspaces, by purpose."""


def main(arguments: list[str]) -> int:
    """Run the command and return the exit code."""
    typed = _parser().parse_args(arguments)
    folder = RunFolder(typed.run)
    require_no_trial(folder)
    if not folder.summary.is_file() or not folder.curves.is_file():
        raise AttestError(f"{folder.summary} does not exist; expected the folder of a finished run. Finish it: make train")
    import wandb  # this and what follows take seconds

    from attest.report.page import illustrations
    from attest.report.tracking.dashboard import template, workspace

    curves = {name for epoch in read_json(folder.curves) for name in epoch}
    figures = [figure.key for figure in illustrations(folder)]
    made = template(typed.purpose, read_json(folder.summary), curves, figures)
    if typed.show:
        _show(made.sections)
        return 0
    project = typed.project or _project(folder)
    _require_login()
    try:
        name = NAMES[typed.purpose]
        saved = workspace(made, typed.entity or wandb.Api().default_entity or "", project, name).save()
    except (wandb.errors.Error, OSError) as error:
        raise AttestError(
            f"W&B did not take the dashboard ({str(error).splitlines()[0]}); expected a project {project!r} that has runs. "
            "Upload them first: wandb sync <run folder>/wandb/offline-run-*"
        ) from error
    print(f"Dashboard: {saved.url}")
    return 0


def _parser() -> CommandParser:
    parser = CommandParser("attest dashboard", __doc__)
    parser.add_argument("--run", type=Path, required=True, help="a finished run; its experiments become sections")
    parser.add_argument("--project", help="the W&B project; by default that of the run's configuration")
    parser.add_argument("--entity", help="the W&B user or team; by default your own")
    parser.add_argument("--purpose", choices=tuple(NAMES), default="run", help="what the workspace is for; by default run")
    parser.add_argument("--show", action="store_true", help="print the sections and panels and create nothing")
    return parser


def _project(folder: RunFolder) -> str:
    """Return the project to which the run was logged."""
    trainer = folder.settings()["trainer"]
    configured: Any = trainer.get("logger")
    for logger in configured if isinstance(configured, list) else [configured]:
        if isinstance(logger, dict) and logger["class_path"].endswith("WandbLogger"):
            return logger["init_args"].get("project") or "lightning_logs"
    raise AttestError(f"{folder.path} was not logged to W&B; expected LOGGER=wandb. Name a project with --project=<name>.")


def _require_login() -> None:
    import wandb

    offline = os.environ.get("WANDB_MODE", "online") != "online"
    try:
        logged_in = not offline and wandb.login(prompt=False)
    except wandb.errors.Error:
        logged_in = False
    if not logged_in:
        why = f"WANDB_MODE is {os.environ['WANDB_MODE']}" if offline else "nobody is logged in to W&B"
        raise AttestError(
            f"{why}; expected a user who is online and logged in. Type: wandb login. --show prints what the dashboard would "
            "hold."
        )


def _show(sections: "list[Section]") -> None:
    for section in sections:
        print(section.name)
        for panel in section.panels:
            print(f"  {panel.kind:<9}{panel.title}: {', '.join(panel.metrics)}{f' over {panel.x}' if panel.x else ''}")
