"""From run folders to the numbers, claims and files of a table."""

import json
import os
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from attest.replication.comparison import RULES
from attest.replication.page import between, provenance, run_seconds, stamp, table_page, with_spread
from attest.replication.table import (
    evidence_rows,
    instance_values,
    measured,
    over_seeds,
    read_kept,
    table_claims,
    table_numbers,
    write_kept,
)
from attest.replication.write import to_keep, write_results
from attest.runs.folder import RunFolder, write_json, write_table
from attest.runs.published_tables import PublishedColumn, PublishedTable
from tests.replication.conftest import TABLE, finished_run, instances, parse

RIGHT = np.arange(100) < 80


@pytest.fixture
def folders(tmp_path):
    """Two seeds of dense and sparse on SST, one seed of each value swept, nothing on IMDb."""
    runs = {("imdb", row): {} for row in ("dense", "sparse")}
    for row, right, tau in (("dense", RIGHT, [0.2, 0.4]), ("sparse", RIGHT & (np.arange(100) % 8 > 0), [0.3, 0.3])):
        at = [tmp_path / row / f"seed{seed}" for seed in range(2)]
        runs["sst", row] = {
            seed: finished_run(folder, right.mean() + 0.02 * seed, right, tau) for seed, folder in enumerate(at)
        }
    found = {(row, data, None): of for (data, row), of in runs.items()}
    for value, accuracy in ((-10.0, 0.9), (0.0, 0.8), (0.5, 0.85)):
        found["swept", "sst", value] = {0: finished_run(tmp_path / f"swept{value}", accuracy)}
    return found


def number(numbers, row, column, source="", at=np.nan):
    chosen = numbers[(numbers["row"] == row) & (numbers["column"] == column) & numbers["source"].str.startswith(source)]
    return chosen[chosen["at"].isna() if np.isnan(at) else chosen["at"] == at].iloc[0]


def test_the_knee_is_found_in_the_curve_of_each_seed_and_judged(tmp_path):
    """Seed 0 bends at 0.2 and seed 1 at 0.3; the third curve is a straight line and has no knee."""
    table = parse(
        TABLE.replace("along: kendall", "along: knee against τ").replace(
            "-10, 0, 0.5]}", "1, 2, 3, 4]}\n    paper: {sst: {trend: 0.25}}"
        )
    )
    gained, costs = [0.1, 0.2, 0.3, 0.4], ([0.0, 0.1, 0.7, 1.0], [0.0, 0.1, 0.2, 1.0], [0.0, 0.1, 0.2, 0.3])
    folders = {("swept", "sst", float(at)): {} for at in (1, 2, 3, 4)}
    for (place, runs), accuracy, *paid in zip(folders.items(), gained, *costs, strict=True):
        for seed, cost in enumerate(paid):
            runs[seed] = tmp_path / f"{place[2]}/seed{seed}"
            write_json(RunFolder(runs[seed]).summary, {"test/accuracy": accuracy, "E1/tau/mean": cost})
    found = number(table_numbers(table, folders), "swept", "trend")
    assert (found["ours"], found["seeds"], found["published"]) == (pytest.approx(0.25), 2, "0.25")
    page = table_page(table, table_numbers(table, folders), table_claims(table, folders), provenance(folders, "typed"))
    assert "* trend: `test/accuracy`, at the knee of its curve against τ, by seed; margin 0.5 at most" in page


def test_numbers_are_means_over_seeds_beside_each_source(invented, folders):
    numbers = table_numbers(invented, {place: of for place, of in folders.items() if place[1] == "sst"})
    paper = number(numbers, "dense", "accuracy", "Nobody")
    assert (paper["ours"], paper["std"], paper["seeds"]) == (
        pytest.approx(0.81),
        pytest.approx(np.std([0.8, 0.82], ddof=1)),
        2,
    )
    assert (paper["published"], paper["setting"]) == ("0.800", "the same")
    assert (paper["difference"], paper["verdict"]) == (pytest.approx(0.01), "two seeds: cannot say")
    recalled = number(numbers, "dense", "accuracy", "Somebody")
    assert recalled["setting"] == "another"
    assert recalled["source"] == "Somebody 2018 [from memory]"
    own = number(numbers, "dense", "accuracy", "their code")
    assert (own["published"], own["verdict"]) == ("0.81", "")
    assert pd.isna(own["setting"])
    assert number(numbers, "dense", "above")["ours"] == pytest.approx(0.5), "0.4 is above 0.25 and 0.2 is not"
    assert number(numbers, "swept", "accuracy", at=0.5)["ours"] == 0.85
    trend = number(numbers, "swept", "trend")
    assert trend["ours"] == pytest.approx(stats.kendalltau([-10, 0, 0.5], [0.9, 0.8, 0.85]).statistic)


def test_what_stands_beside_and_is_not_judged_has_no_verdict(folders):
    told = parse(
        TABLE.replace("{key: test/accuracy, margin: 0.03, neutral: 0.5}", "{key: test/accuracy, margin: 0.03, judged: false}")
    )
    paper = number(table_numbers(told, folders), "dense", "accuracy", "Nobody")
    assert (paper["published"], paper["verdict"]) == ("0.800", "")


def test_what_has_not_run_says_so(invented, folders):
    numbers = table_numbers(invented, folders)
    imdb = numbers[numbers["data"] == "imdb"]
    assert set(imdb["seeds"]) == {0}
    assert imdb["ours"].isna().all()
    claims = table_claims(invented, folders)
    assert claims.loc[claims["data"] == "imdb", "verdict"].tolist() == ["not run", "not run"]


def test_a_page_says_which_evidence_is_on_a_part_of_the_texts(invented, folders):
    runs = [folder for by_seed in folders.values() for folder in by_seed.values()]
    for folder, read in zip(runs[:2], (256, 625), strict=True):
        summary = json.loads((folder / "summary.json").read_text())
        (folder / "summary.json").write_text(json.dumps(summary | {"E2/texts_read/count": read, "E2/texts/count": 1725.0}))
    numbers, claims = table_numbers(invented, folders), table_claims(invented, folders)
    page = table_page(invented, numbers, claims, provenance(folders, "attest reproduce TABLE=x"))
    assert "Evidence that stopped when its means were known: E2 in 2 runs, after 256 to 625 of 1,725 texts." in page


def test_what_has_run_but_is_undefined_says_that(invented, folders):
    for place, runs in folders.items():
        for seed in runs:
            summary = runs[seed] / "summary.json"
            kept = {key: value for key, value in json.loads(summary.read_text()).items() if key != "test/accuracy"}
            summary.write_text(json.dumps(kept | ({"test/accuracy": 0.5} if place[0] == "swept" else {})))
    here = {place: of for place, of in folders.items() if place[1] == "sst"}
    numbers, claims = table_numbers(invented, here), table_claims(invented, here)
    assert number(numbers, "dense", "accuracy", "Nobody")["verdict"] == "undefined"
    assert number(numbers, "swept", "trend")["absent"] == "undefined", "accuracy is the same at every value of the sweep"
    beats = claims[claims["expect"] == "greater"].iloc[0]
    assert (beats["seeds"], beats["verdict"]) == (0, "undefined")
    page = table_page(invented, numbers, claims, provenance(here, "attest reproduce TABLE=x"))
    assert " | undefined | 0 | " in page
    assert "not run" not in page.split("## Rules")[0]


def test_a_sweep_with_a_value_that_has_not_run_says_so(invented, folders):
    folders["swept", "sst", 0.5] = {}
    assert number(table_numbers(invented, folders), "swept", "trend")["absent"] == "not run"


def test_claims_are_tested_in_pairs(invented, folders):
    claims = table_claims(invented, folders)
    beats = claims[(claims["data"] == "sst") & (claims["expect"] == "greater")].iloc[0]
    assert beats["difference"] == pytest.approx(0.1)
    assert _p_of(beats) == [pytest.approx(1 / 2**10)] * 2, "of 100 decisions 10 differ, all one way"
    assert (beats["verdict"], beats["published"]) == ("two seeds: cannot say", pytest.approx(0.01))
    alike = claims[(claims["data"] == "sst") & (claims["expect"] == "equal")].iloc[0]
    assert (alike["difference"], alike["tests"], alike["verdict"]) == (pytest.approx(0.0), [], "two seeds: cannot say")


def _p_of(claim):
    return [test["p"] for test in claim["tests"]]


def test_a_claim_is_made_where_both_its_rows_are_and_judged_with_its_family_there():
    family = "{name: all, that: '{left} as {right}', column: τ, expect: equal, rows: [[dense, sparse], [dense, dense]]}"
    rows = TABLE.replace("  - name: sparse\n", "  - name: sparse\n    data: [sst]\n")
    table = parse(f"{rows}families:\n  - {family}")
    mixed, alone = table.claims[-2:]
    assert (mixed.data, alone.data) == (("sst",), ("sst", "imdb"))
    assert [table.judged_together(alone, data) for data in alone.data] == [2, 1]


def test_a_family_is_its_claims_judged_together(tmp_path):
    better = '  - {that: "{left} ranks better than {right}", column: τ, expect: greater, '
    alone = parse(TABLE + better + "rows: [dense, sparse]}")
    both = parse(TABLE + "families:\n" + better + "name: ranks, rows: [[dense, sparse], [sparse, dense]]}")
    assert [claim.that for claim in both.claims[2:]] == ["dense ranks better than sparse", "sparse ranks better than dense"]
    assert [both.judged_together(claim, "sst") for claim in both.claims] == [1, 1, 2, 2]
    tau = {"dense": (0.16, 0.24, 0.29), "sparse": (0.1, 0.1, 0.1)}
    folders = {
        (row, "sst", None): {seed: finished_run(tmp_path / f"{row}{seed}", tau=[each] * 20) for seed, each in enumerate(of)}
        for row, of in tau.items()
    }
    judged = [table_claims(table, folders).iloc[2] for table in (alone, both)]
    assert all(0.025 < each["p_seeds"] < 0.05 for each in judged)
    assert [each["verdict"] for each in judged] == ["holds", "perhaps"]
    page = table_page(both, table_numbers(both, folders), table_claims(both, folders), provenance(folders, "attest reproduce"))
    assert "Claims of one *family* are judged together" in page


def test_a_claim_is_about_the_instances_of_which_both_numbers_are_defined(tmp_path):
    """The means over all say the contrary of what holds wherever the two can be compared."""
    ranks_better = "claims:\n  - {that: dense ranks better, column: τ, rows: [dense, sparse], expect: greater}"
    told = parse(TABLE.replace("claims:", ranks_better))
    tau = {"dense": [*[0.5] * 20, np.nan], "sparse": [*[0.4] * 20, 5.0]}
    folders = {(row, "sst", None): {0: finished_run(tmp_path / row, tau=values)} for row, values in tau.items()}
    for row, runs in folders.items():
        write_json(RunFolder(runs[0]).summary, {"E1/tau/mean": float(np.nanmean(tau[row[0]]))})
    ranks = table_claims(told, folders).iloc[0]
    assert ranks["difference"] == pytest.approx(0.1)
    assert _p_of(ranks) == [pytest.approx(stats.wilcoxon([0.1] * 20, alternative="greater").pvalue)]
    assert ranks["verdict"] == "one seed: cannot say"


@pytest.fixture
def three_seeds(tmp_path):
    """Three seeds of both rows with evidence: 10 texts of 100 are right in dense alone, and none in sparse alone."""
    rows = {"dense": RIGHT, "sparse": RIGHT & (np.arange(100) % 8 > 0)}
    seeds = {0: 0.001, 1: 0.0, 2: -0.002}
    return {
        (row, "sst", None): {
            seed: finished_run(
                tmp_path / f"sst/{row}/seed{seed}", right.mean() + more, np.roll(right, seed), [0.3, 0.2 + more]
            )
            for seed, more in seeds.items()
        }
        for row, right in rows.items()
    }


def _moved(folder, root):
    """A copy that is another run by its name."""
    return Path(shutil.copytree(folder, root / "others" / folder.parent.name / folder.name))


def _drop_evidence(folders):
    for runs in folders.values():
        for folder in runs.values():
            shutil.rmtree(folder / "evidence")
    evidence_rows.cache_clear()


def test_a_claim_whose_evidence_is_gone_is_judged_over_seeds_alone(invented, three_seeds):
    for seed, folder in three_seeds["sparse", "sst", None].items():
        finished_run(folder, 0.7 + 0.001 * seed, np.roll(RIGHT & (np.arange(100) % (7 + seed) > 0), seed), [0.3, 0.2])
    beats = table_claims(invented, three_seeds).iloc[0]
    assert (beats["verdict"], len(beats["tests"])) == ("holds", 3)
    (three_seeds["dense", "sst", None][1] / "evidence/instances.parquet").unlink()
    evidence_rows.cache_clear()
    beats = table_claims(invented, three_seeds).iloc[0]
    assert (beats["verdict"], len(beats["tests"])) == ("holds over seeds, texts not tested", 2)


def test_what_was_read_from_evidence_is_kept_beside_the_table(invented, three_seeds, tmp_path):
    """Numbers, differences and tests are the same when the evidence is gone, and when they have been written again."""
    numbers, claims = table_numbers(invented, three_seeds), table_claims(invented, three_seeds)
    write_kept(tmp_path, to_keep(numbers, claims))
    _drop_evidence(three_seeds)
    assert number(table_numbers(invented, three_seeds), "dense", "above")["absent"] == "undefined"
    for _ in range(2):
        kept = read_kept(tmp_path)
        again, claims_again = table_numbers(invented, three_seeds, kept), table_claims(invented, three_seeds, kept)
        write_kept(tmp_path, to_keep(again, claims_again))
        assert number(again, "dense", "above")["gone"]
        columns = ["ours", "std", "low", "high", "seeds", "absent"]
        pd.testing.assert_frame_equal(again[columns], numbers[columns])
        assert claims_again["difference"].tolist() == pytest.approx(claims["difference"].tolist())
        assert claims_again[["tests", "verdict"]].to_dict() == claims[["tests", "verdict"]].to_dict()
    test = claims["tests"][0][0]
    assert test["rules"] == RULES["fixed"]
    assert (test["test"], test["expect"], test["pairs"], test["above"], test["below"]) == ("McNemar", "greater", 100, 10, 0)


def test_what_was_kept_of_other_runs_is_not_used(invented, three_seeds, tmp_path):
    write_kept(tmp_path, to_keep(table_numbers(invented, three_seeds), table_claims(invented, three_seeds)))
    _drop_evidence(three_seeds)
    others = {place: {seed: _moved(runs[seed], tmp_path) for seed in (0, 1)} for place, runs in three_seeds.items()}
    assert number(table_numbers(invented, others, read_kept(tmp_path)), "dense", "above")["absent"] == "undefined"
    assert table_claims(invented, others, read_kept(tmp_path))["tests"].tolist() == [[], []]


@pytest.mark.parametrize("older", [False, True])
def test_seeds_whose_evidence_is_gone_are_joined_by_seeds_that_have_it(invented, three_seeds, tmp_path, older):
    """Seeds are trained one after the other, and the evidence of each is gone before the next one's is there."""
    whole, claimed = table_numbers(invented, three_seeds), table_claims(invented, three_seeds)
    for seed in range(3):
        some = {place: {each: runs[each] for each in range(seed + 1)} for place, runs in three_seeds.items()}
        numbers, claims = (table(invented, some, read_kept(tmp_path)) for table in (table_numbers, table_claims))
        write_kept(tmp_path, to_keep(numbers, claims))
        _drop_evidence({place: {seed: runs[seed]} for place, runs in three_seeds.items()})
        if older and seed == 0:
            entries = read_kept(tmp_path).entries.items()
            write_kept(tmp_path, {key: {part: entry[part] for part in {*entry} - {"values"}} for key, entry in entries})
    kept_alone = table_numbers(invented, three_seeds, read_kept(tmp_path))
    for found in (numbers, kept_alone):
        assert number(found, "dense", "above")["gone"]
        columns = ["ours", "std", "low", "high", "seeds", "absent"]
        pd.testing.assert_frame_equal(found[columns], whole[columns])
    assert claims[["difference", "seeds"]].to_dict() == claimed[["difference", "seeds"]].to_dict()


def test_each_side_over_its_own_texts_is_not_paired(three_seeds):
    claim = "{that: dense beats sparse, column: accuracy, rows: [dense, sparse], expect: greater"
    told = parse(TABLE.replace(claim, claim + ", paired: false"))
    beats = table_claims(told, three_seeds).iloc[0]
    assert beats["tests"] == []
    assert beats["difference"] == pytest.approx(0.1)


def test_seeds_are_compared_with_the_first_and_never_with_themselves(tmp_path):
    attention = {0: [1.0, 0.0], 1: [0.0, 1.0], 2: [1.0, 0.0]}
    for seed, weights in attention.items():
        rows = instances(label=[1, 0], predicted=1, probability_0=0.5, probability_1=0.5, max_attention=1.0, length=2)
        rows = rows.assign(attention=[weights] * 2, tokens=[["a", "b"]] * 2)
        write_table(RunFolder(tmp_path / f"seed{seed}").evidence("instances"), rows)
    values = over_seeds(
        {seed: tmp_path / f"seed{seed}" for seed in attention}, PublishedColumn("JSD", table="E5", value="jsd")
    )
    assert values == {1: pytest.approx(np.log(2)), 2: pytest.approx(0.0)}


def test_a_mean_is_that_of_its_instances(folders):
    folder = folders["dense", "sst", None][0]
    for column in (
        PublishedColumn("a", "test/accuracy"),
        PublishedColumn("t", "E1/tau/mean"),
        PublishedColumn("b", table="E1", value="tau > 0.25"),
    ):
        values = instance_values(folder, column)
        assert values is not None
        assert measured(folder, column) == pytest.approx(values.mean())
    assert instance_values(folder, PublishedColumn("m", table="E1", value="tau", statistic="median")) is None
    assert measured(folder, PublishedColumn("m", table="E7", value="tau")) is None


def test_the_page_shows_all_of_it(invented, folders):
    numbers, claims = table_numbers(invented, folders), table_claims(invented, folders)
    page = table_page(invented, numbers, claims, provenance(folders, "attest reproduce TABLE=x"))
    assert "| dense | accuracy | 0.810 ± 0.014 | 2 | – | 0.800 | +0.010 | 0.03 | two seeds: cannot say |" in page
    assert "| 0.70 † | +0.110 | 0.03 |" in page
    assert "| 0.81 § | +0.000 | – | – |" in page
    assert stamp(invented) in page
    assert "* Somebody 2018 [from memory] †: other embeddings there" in page
    assert "| swept, 0.5 | accuracy | 0.850 | 1 |" in page
    assert "not run" in page.split("## imdb")[1]
    assert "7 runs, 0.12 hours; commit abc; torch 9.9." in page
    assert with_spread(0.5, float("nan")) == "0.500"


def test_a_stamp_depends_on_the_values_of_a_table_and_not_on_the_names_of_its_classes(invented):
    renamed = type("Renamed", (PublishedTable,), {})(**vars(invented))
    assert stamp(renamed) == stamp(invented) != stamp(replace(invented, title="another"))


def test_numbers_of_a_near_setting_are_marked_and_counted_apart(folders):
    near = TABLE.replace("why: other embeddings there", "embeddings: fasttext-simple")
    near = parse(
        near.replace(
            "RECIPE: jw}\n    paper: {sst: {accuracy: 0.800",
            "RECIPE: jw, EMBEDDINGS: glove-50}\n    paper: {sst: {accuracy: 0.800",
        )
    )
    numbers, claims = table_numbers(near, folders), table_claims(near, folders)
    page = table_page(near, numbers, claims, provenance(folders, "attest reproduce TABLE=x"))
    assert "| 0.70 ¶ | +0.110 |" in page
    assert "* Somebody 2018 [from memory] ¶: pretrained fasttext-simple embeddings there, glove-50 here" in page
    assert "Numbers of a near setting ¶: 1 two seeds: cannot say." in page
    assert "another setting" not in page


def test_small_numbers_keep_their_digits():
    assert with_spread(2.1e-5, 3e-6) == "2.1e-05 ± 3.0e-06"
    assert with_spread(-4e-4, float("nan"), signed=True) == "-4.0e-04"
    assert with_spread(0.0, 0.0) == "0.000 ± 0.000"


def test_an_interval_of_small_numbers_is_no_pair_of_zeros():
    assert between(0.3, 0.4) == "0.300 to 0.400"
    assert between(-1.4e-4, 3e-4) == "-1.4e-04 to 3.0e-04"
    assert between(-4e-5, 0.2) == "0.000 to 0.200"
    assert between(0.0, 0.0) == "0.000 to 0.000"


def test_results_are_written_as_text_table_and_figure(folders, tmp_path):
    file = tmp_path / "invented.yaml"
    file.write_text(TABLE)
    places = [[*place, {str(seed): str(folder) for seed, folder in of.items()}] for place, of in folders.items()]
    places[0][3]["7"] = str(tmp_path / "unfinished")
    configuration = {"tables": {"invented": places}, "files": {"invented": str(file)}, "results": str(tmp_path / "out")}
    configuration |= {"suffix": "-sst", "command": "attest reproduce", "settings": ["CUT=smoke"]}
    out = write_results(configuration, "invented")
    assert out.name == "invented-sst"
    assert {path.name for path in out.iterdir()} == {
        *("table.md", "table.csv", "table.json", "evidence.json"),
        *("figures.md", "ours-and-published.png", "ours-and-published.svg"),
    }  # fmt: skip
    written = json.loads((out / "table.json").read_text())
    rows = pd.read_csv(out / "table.csv")
    assert len(written["numbers"]) == len(rows)
    assert written["provenance"]["runs"] == 7
    assert "Every run with `CUT=smoke`." in (out / "table.md").read_text().split("## ")[0]
    assert (out / "figures.md").read_text().endswith("\n\n![ours-and-published](ours-and-published.png)\n")


def test_a_table_says_how_many_of_its_runs_are_older_than_its_rules(invented, folders):
    fixed = datetime.fromisoformat(RULES["fixed"]).replace(tzinfo=UTC).timestamp()
    runs = [folder for by_seed in folders.values() for folder in by_seed.values()]
    for folder, moment in zip(runs, [fixed - 1, fixed - 1, *[fixed] * (len(runs) - 2)], strict=True):
        os.utime(folder / "summary.json", (moment, moment))
    numbers, claims = table_numbers(invented, folders), table_claims(invented, folders)
    page = table_page(invented, numbers, claims, provenance(folders, "attest reproduce TABLE=x"))
    assert f"Judged by the rules of {RULES['fixed']}; 2 of its 7 runs are older than these." in page


def timed_run(folder, **timing):
    """A finished run that says so much of its time."""
    run = RunFolder(folder)
    write_json(run.summary, {})
    write_json(run.timing, timing)
    return run


def test_evidence_that_processes_shared_counts_for_all_of_them(tmp_path):
    seconds = {"train": 10.0, "evidence/E1": 4.0, "evidence/E2": 1.0}
    assert run_seconds(timed_run(tmp_path, seconds=seconds, processes={"evidence/E1": 3})) == 23.0
    assert run_seconds(RunFolder(tmp_path / "nothing")) is None


def test_a_run_that_was_resumed_or_is_not_finished_has_no_known_seconds(tmp_path):
    assert run_seconds(timed_run(tmp_path / "a", seconds={"train": 9.0, "train since the last stop": 1.0})) is None
    unfinished = timed_run(tmp_path / "b", seconds={"train": 9.0})
    unfinished.summary.unlink()
    assert run_seconds(unfinished) is None
