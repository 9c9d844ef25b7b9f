"""The tables that ship, and what a mistyped one is told."""

import math
from dataclasses import replace

import pytest

from attest.core.errors import AttestError
from attest.replication.comparison import HOLDS, UNDEFINED, margin
from attest.replication.figures import DRAWINGS, table_figures
from attest.replication.plan import places
from attest.replication.table import published_difference, table_claims, table_numbers
from attest.runs.choices import choice_arguments
from attest.runs.folder import RunFolder, write_json
from attest.runs.published_tables import (
    NEARLY,
    OTHER,
    Likeness,
    ParameterSweep,
    Publication,
    Quoted,
    every_published_number,
    read_published,
    shorten_sweeps,
    table_file,
    table_names,
)
from tests.replication.conftest import TABLE, parse

SHIPPED = [read_published(table_file(name)) for name in table_names()]
IDS = [experiment.name for experiment in SHIPPED]


def test_every_table_of_the_issue_ships():
    papers = {"jw": "1 2 fig2 fig3 fig5", "wp": "2 3 fig3 fig5", "ss": "fig4 flips orders", "me": "1 2 3 5 6 fig1 fig2 fig3"}
    papers |= {"dr": "1", "ya": "1 2 fig1"}
    ours = {"embeddings", "embeddings-me", "me-rates", "sparse"}
    assert set(IDS) == {f"{paper}-{table}" for paper, tables in papers.items() for table in tables.split()} | ours


@pytest.mark.parametrize("experiment", SHIPPED, ids=IDS)
def test_every_run_of_a_table_is_made_of_choices_that_exist(experiment):
    for row, data, at in places(experiment):
        of = experiment.rows[row]
        swept = of.sweep.typed(at) if of.sweep and not of.then else {}
        assert choice_arguments({"DATA": data, **of.run, **swept})


@pytest.mark.parametrize("experiment", SHIPPED, ids=IDS)
def test_what_a_paper_claims_is_what_its_numbers_say(experiment):
    for claim in experiment.claims:
        for data in claim.data:
            difference = published_difference(experiment, claim, data)
            if claim.expect == "equal" or math.isnan(difference):
                continue
            assert (difference > 0) == (claim.expect == "greater"), f"{claim.that}, {data}: {difference}"


@pytest.mark.parametrize("experiment", SHIPPED, ids=IDS)
def test_every_published_number_has_a_stated_margin_and_every_figure_a_function(experiment):
    quoted = {
        column for row in experiment.rows.values() for by in row.published.values() for of in by.values() for column in of
    }
    assert all(experiment.columns[column].margin > 0 for column in quoted)
    assert all(drawing.draw in DRAWINGS for drawing in experiment.drawings)


@pytest.mark.whole("archives of runs")
@pytest.mark.parametrize("experiment", SHIPPED, ids=IDS)
def test_a_table_is_made_of_runs_that_were_kept_without_their_evidence(experiment, tmp_path):
    summary = {column.key: 0.5 for column in experiment.columns.values() if column.key}
    folders = {place: {0: tmp_path / str(k)} for k, place in enumerate(places(experiment))}
    for runs in folders.values():
        write_json(RunFolder(runs[0]).summary, summary)
    numbers, claims = table_numbers(experiment, folders), table_claims(experiment, folders)
    assert set(numbers["absent"]) <= {"", UNDEFINED}
    assert numbers.loc[numbers["at"].isna() & numbers["column"].isin(_kept(experiment)), "ours"].eq(0.5).all()
    if len(claims):
        assert HOLDS not in set(claims["verdict"])
    table_figures(experiment, numbers, folders)


def test_no_margin_is_as_wide_as_what_was_published():
    for row, corpus, column, _, quoted in every_published_number():
        allowed = margin(quoted.value, column)
        assert 0 < allowed <= abs(quoted.value - column.neutral) / 2 + 1e-12, f"{row.name}, {corpus}, {column.name}"


@pytest.mark.parametrize(
    ("name", "judged", "beside"),
    [
        ("me-2", "H̃ gradients with λ, τ", "H̃ gradients with λ, Pearson"),
        ("ya-1", "F1 of chunks", "F1 of tokens"),
        ("ya-2", "F1 of chunks", "F1 of tokens"),
    ],
)
def test_a_published_number_that_fits_two_quantities_is_judged_once(name, judged, beside):
    experiment = read_published(table_file(name))
    given = [of for row in experiment.rows.values() for by in row.published.values() for of in by.values()]
    assert given
    assert all(of[judged] == of[beside] for of in given)
    assert (experiment.columns[judged].judged, experiment.columns[beside].judged) == (True, False)


def test_a_published_number_is_judged_under_one_recipe():
    for experiment in SHIPPED:
        of = {}
        for row in experiment.rows.values():
            rest = {name: value for name, value in row.run.items() if name != "RECIPE"}
            read = [option for typed in row.options.values() for option in typed if option.startswith("--data.")]
            model = (tuple(rest.items()), tuple(row.then.items()), row.sweep, row.data, *read)
            of.setdefault(model, []).append(row)
        assert all(sum(bool(row.published) for row in rows) <= 1 for rows in of.values()), experiment.name


@pytest.mark.parametrize(
    ("honest", "hostile"),
    [
        ("value: tau > 0.25", "value: \"@pd.io.common.os.system('true')\""),
        ("where: predicted == 1", "where: \"@pd.io.common.os.system('true')\""),
        ("table: E1", "table: ../../../home/E1"),
        ("{MODEL: bilstm, SCORING: additive, PROJECTION: softmax", "{FORCE: 1, MODEL: bilstm, PROJECTION: softmax"),
        ("{MODEL: bilstm, SCORING: additive, PROJECTION: softmax", "{--trainer.profiler: mine.Class, MODEL: bilstm"),
        ("{MODEL: bilstm, SCORING: additive, PROJECTION: softmax", "{MODEL: ../../stranger, PROJECTION: softmax"),
        ("data: [sst, imdb]", "data: [../../sst]"),
        ('form: "sparsegen:{}"', 'form: "{0.__class__}"'),
        ('form: "sparsegen:{}"', 'form: "{:>99999999999}"'),
        ("    data: [sst]", "    options: {sst: [--run.force=true]}\n    data: [sst]"),
        ("    data: [sst]", "    options: {sst: [--run.root=/home]}\n    data: [sst]"),
        ("    data: [sst]", "    options: {sst: [--config=evil.yaml]}\n    data: [sst]"),
        ("    data: [sst]", "    options: {sst: [--model=evil.Class]}\n    data: [sst]"),
        ("    data: [sst]", "    options: {sst: [--model.init_args.network=evil]}\n    data: [sst]"),
        ("    data: [sst]", "    options: {sst: [--trainer.callbacks+=evil.Class]}\n    data: [sst]"),
        ("    data: [sst]", "    options: {sst: [FORCE=1]}\n    data: [sst]"),
        ("columns:\n", "columns: 3\nothers:\n"),
    ],
)
def test_a_table_of_a_stranger_runs_deletes_and_writes_nothing_of_its_own_choice(honest, hostile):
    assert honest in TABLE
    with pytest.raises(AttestError, match=r"invented\.yaml is not valid"):
        parse(TABLE.replace(honest, hostile))


@pytest.mark.parametrize("option", ["--data.init_args.train=my reviews.csv", "--trainer.max_epochs=20"])
def test_a_row_may_say_which_files_are_read_and_set_numbers(option):
    given = TABLE.replace("    data: [sst]", f"    options: {{sst: ['{option}']}}\n    data: [sst]")
    assert parse(given).rows["swept"].options == {"sst": (option,)}


def test_our_own_runs_of_their_code_are_called_their_own():
    assert {source.name for *_, source, _ in every_published_number() if source.own} == {"rerun"}


def test_a_setting_is_near_where_words_start_from_other_pretrained_vectors():
    source = Publication("theirs", "Somebody 2018", embeddings="fasttext-simple")
    assert source.likeness_to({"EMBEDDINGS": "fasttext-simple"}) == Likeness()
    near, random = (source.likeness_to(run) for run in ({"EMBEDDINGS": "glove-50"}, {"EMBEDDINGS": "random:50"}))
    assert near == Likeness(NEARLY, "pretrained fasttext-simple embeddings there, glove-50 here")
    assert random == Likeness(OTHER, "pretrained fasttext-simple embeddings there, randomly initialised ones here")
    assert source.likeness_to({}) == random
    further = replace(source, why="another λ there")
    assert further.likeness_to({"EMBEDDINGS": "glove-50"}).degree == OTHER
    assert further.likeness_to({"EMBEDDINGS": "fasttext-simple"}) == Likeness(OTHER, "another λ there")
    assert Publication("ours", "Nobody 2019").likeness_to({"EMBEDDINGS": "glove-50"}) == Likeness()


def test_the_table_says_filter_where_it_reads_the_filter():
    columns = read_published(table_file("jw-fig5")).columns
    keys = {name: column.key for name, column in columns.items() if column.key}
    assert {name.endswith("0.05") == key.removesuffix("/mean").endswith("_filter") for name, key in keys.items()} == {True}


def _kept(experiment):
    return [column.name for column in experiment.columns.values() if column.key and not column.along]


def test_three_values_of_a_sweep_are_its_ends_and_its_middle(invented):
    assert shorten_sweeps(invented).rows["swept"].sweep.values == (-10, 0, 0.5)
    long, short = read_published(table_file("me-2")), shorten_sweeps(read_published(table_file("me-2")))
    assert {row.sweep.values for row in short.rows.values()} == {(-100, 0, 0.9)}
    assert short.columns == long.columns
    assert shorten_sweeps(long, but=("PROJECTION",)) == long
    alone = replace(invented.rows["swept"], sweep=ParameterSweep("LAMBDA", (0.1,)))
    assert shorten_sweeps(replace(invented, rows={"swept": alone})).rows["swept"] == alone


def test_numbers_keep_their_published_digits(refusal):
    assert Quoted.parse("0.90 ± 0.050") == Quoted(0.9, 0.05, "0.90 ± 0.050")
    assert Quoted.parse("-0.935").value == -0.935
    with refusal():
        Quoted.parse("about 1")


def test_the_numbers_that_are_known_from_memory_say_so():
    recalled = {source.citation for *_, source, _ in every_published_number() if source.memory}
    assert recalled
    assert all(citation.endswith("[from memory]") for citation in recalled)


@pytest.mark.parametrize(
    ("found", "mistyped"),
    [
        ("along: kendall", "along: kendal"),
        ("along: kendall", "along: knee against acuracy"),
        ("τ: 0.35", "tau: 0.35"),
        ("rows: [dense, sparse], expect: greater", "rows: [dense, thin], expect: greater"),
        ("expect: equal", "expect: same"),
        ("margin: 0.03", "margn: 0.03"),
        ("recalled: {sst", "remembered: {sst"),
        ("title: Invented", "heading: Invented"),
    ],
)
def test_a_mistyped_table_says_what_is_wrong(found, mistyped, refusal):
    with refusal():
        parse(TABLE.replace(found, mistyped, 1))


def test_an_unknown_table_names_the_nearest():
    with pytest.raises(AttestError, match=r"TABLE=me-66 is not known.* TABLE=me-6$"):
        table_file("me-66")
