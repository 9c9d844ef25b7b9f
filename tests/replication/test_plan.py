"""Which runs a table needs, and how long they would take."""

from pathlib import Path

from attest.replication.plan import Plan, as_json, make_plan, missing_runs
from attest.runs.folder import read_json, write_json
from tests.replication.conftest import TABLE, finished_run, parse

SWEPT_ADVERSARY = """    then: {command: adversarial, VARIANT: frozen, DIVERGENCE: jsd}
    sweep: {choice: LAMBDA, values: [1.0e-3, 1]}"""


def locate(typed):
    """As runs are named, without a parser."""
    chosen = dict(each.split("=", 1) for each in typed if not each.startswith("--"))
    name = "-".join(chosen[part] for part in ("RECIPE", "MODEL", "SCORING", "PROJECTION"))
    return Path("runs", chosen["DATA"], name, "seed0")


def test_every_run_is_planned_once_with_its_own_seed_and_value(invented):
    plan = make_plan([invented, invented], 2, locate, ["sst"], ["LOGGER=csv"])
    assert len(plan.jobs) == 2 * (2 + 3)
    job = plan.jobs[Path("runs/sst/jw-bilstm-additive-sparsegen:0.5/seed1")]
    assert job.command[:2] == ("fit", "DATA=sst")
    assert {"PROJECTION=sparsegen:0.5", "SEED=1", "LOGGER=csv"} <= set(job.command)
    assert plan.tables["invented"]["swept", "sst", 0.5][1] == job.folder


def test_a_dependent_run_comes_after_its_base_and_lies_inside_it(invented):
    text = TABLE.replace('    sweep: {choice: PROJECTION, form: "sparsegen:{}", values: [-10, 0, 0.5]}', SWEPT_ADVERSARY)
    plan = make_plan(
        [parse(text.replace("RECIPE: jw}\n    then", "RECIPE: jw, PROJECTION: entmax15}\n    then"))], 1, locate, ["sst"]
    )
    base = Path("runs/sst/jw-bilstm-additive-entmax15/seed0")
    assert plan.tables["invented"]["swept", "sst", 0.001] == {0: base / "adversarial/frozen-jsd-0.001"}
    job = plan.jobs[base / "adversarial/frozen-jsd-0.001"]
    assert job.after == (base,)
    assert job.command[0] == "adversarial"
    assert {"PROJECTION=entmax15", "SEED=0", "LAMBDA=0.001", "VARIANT=frozen"} <= set(job.command)
    assert list(plan.jobs).index(base) < list(plan.jobs).index(job.folder)
    assert plan.jobs[base].command[0] == "fit"


GUIDED = Path("runs/imdb/jw-bilstm-additive-sparsemax/seed0")
"""The base of ``planned_then``."""


def planned_then(then: str) -> Plan:
    """The plan of a table whose sparse row goes on with a dependent run."""
    text = TABLE.replace("RECIPE: jw}\n    paper: {sst: {accuracy: 0.790}}", f"RECIPE: jw}}\n    then: {{{then}}}")
    return make_plan([parse(text)], 1, locate, ["imdb"])


def test_a_guide_comes_after_the_adversary_that_guides():
    plan = planned_then("command: controls, GUIDE: unfrozen-kl-0.001")
    guide, adversary = GUIDED / "guides/unfrozen-kl-0.001", GUIDED / "adversarial/unfrozen-kl-0.001"
    assert plan.jobs[guide].after == (GUIDED, adversary)
    assert "GUIDE=unfrozen-kl-0.001" in plan.jobs[guide].command
    assert plan.jobs[adversary].after == (GUIDED,)
    assert not any(word.startswith("GUIDE") for word in plan.jobs[adversary].command)


def test_a_convention_names_the_folder_of_an_adversary_and_reaches_its_command():
    plan = planned_then("command: controls, GUIDE: unfrozen-kl-yang-0.2")
    alone = planned_then("command: adversarial, VARIANT: unfrozen, DIVERGENCE: kl, CONVENTION: yang, LAMBDA: 0.2")
    guide, folder = GUIDED / "guides/unfrozen-kl-yang-0.2", GUIDED / "adversarial/unfrozen-kl-yang-0.2"
    for each in (plan, alone):
        assert "CONVENTION=yang" in each.jobs[folder].command
    assert plan.jobs[guide].after == (GUIDED, folder)
    assert "CONVENTION" not in "".join(plan.jobs[guide].command)


def test_a_probe_by_weighted_states_has_a_folder_beside_the_other_and_reads_the_same_adversary():
    plan = planned_then("command: controls, GUIDE: unfrozen-kl-yang-0.2, PROBE: states")
    adversary, probe = GUIDED / "adversarial/unfrozen-kl-yang-0.2", GUIDED / "guides/states-unfrozen-kl-yang-0.2"
    assert plan.jobs[probe].after == (GUIDED, adversary)
    assert {"GUIDE=unfrozen-kl-yang-0.2", "PROBE=states"} <= {*plan.jobs[probe].command}
    assert "PROBE" not in "".join(plan.jobs[adversary].command)


def test_a_run_is_located_once_for_all_its_seeds(invented):
    asked = []
    make_plan([invented], 3, lambda typed: asked.append(typed) or locate(typed))
    assert len(asked) == len(set(asked)) == 2 * 2 + 3


def test_the_workflow_gets_plain_values(invented, tmp_path):
    plan = make_plan([invented], 1, locate, ["imdb"])
    write_json(tmp_path / "plan.json", as_json(plan))
    written = read_json(tmp_path / "plan.json")
    assert written["tables"]["invented"][0] == ["dense", "imdb", None, {"0": "runs/imdb/jw-bilstm-additive-softmax/seed0"}]
    assert written["jobs"]["runs/imdb/jw-bilstm-additive-softmax/seed0"]["after"] == []


def test_a_corpus_that_no_row_has_is_refused(invented, refusal):
    with refusal():
        make_plan([invented], 1, locate, ["20news"])


def test_a_choice_selects_rows_and_the_table_still_has_all(invented):
    plan = make_plan([invented], 1, locate, ["sst"], selected={"PROJECTION": ("sparsemax", "sparsegen:0.5")})
    assert {folder.parent.name for folder in plan.jobs} == {"jw-bilstm-additive-sparsemax", "jw-bilstm-additive-sparsegen:0.5"}
    assert plan.tables == make_plan([invented], 1, locate, ["sst"]).tables


def test_selected_dependent_runs_bring_what_they_depend_on():
    text = TABLE.replace('    sweep: {choice: PROJECTION, form: "sparsegen:{}", values: [-10, 0, 0.5]}', SWEPT_ADVERSARY)
    text = text.replace("RECIPE: jw}\n    then", "RECIPE: jw, PROJECTION: entmax15}\n    then")
    plan = make_plan([parse(text)], 1, locate, ["sst"], selected={"LAMBDA": ("1e-3",)})
    base = Path("runs/sst/jw-bilstm-additive-entmax15/seed0")
    assert list(plan.jobs) == [base, base / "adversarial/frozen-jsd-0.001"]


def test_a_choice_that_no_row_has_names_those_there_are(invented, refusal):
    with refusal():
        make_plan([invented], 1, locate, ["sst"], selected={"MODEL": ("cnn",)})


def test_missing_runs_are_listed_and_counted(invented, tmp_path):
    plan = make_plan([invented], 1, lambda typed: tmp_path / locate(typed), ["sst"])
    finished_run(tmp_path / "runs/sst/jw-bilstm-additive-softmax/seed0")
    said = missing_runs(plan, tmp_path / "runs").splitlines()
    assert said[0] == "sst/jw-bilstm-additive-sparsemax/seed0"
    assert said[-1] == f"{len(plan.jobs) - 1} of {len(plan.jobs)} runs are missing."
    assert len(said) == len(plan.jobs)
