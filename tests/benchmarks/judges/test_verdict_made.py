"""The making of the verdict's rule, from the networks to the page of its errors."""

import json
from pathlib import Path

import pandas as pd
import pytest
import yaml

from attest.core.places import configs_folder
from attest.experiments.verdict import needed, rule_of, shipped
from benchmarks.judges.__main__ import main
from benchmarks.judges.fitting import errors, fitted
from benchmarks.judges.training import Decoder
from benchmarks.judges.verdict_made import largest, networks_about
from benchmarks.judges.verdict_page import write_page

STATED = yaml.safe_load((configs_folder() / "judges" / "verdict.yaml").read_text(encoding="utf-8"))
TEXTS = Path(__file__).parents[3] / "docs" / "results" / "verdict-texts.parquet"


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return pd.read_parquet(TEXTS)


@pytest.mark.whole("a population of networks is trained")
def test_a_small_population_is_tried_and_its_errors_are_written(tmp_path: Path) -> None:
    main(["verdict", "--smoke", "--results", str(tmp_path)])
    made = json.loads((tmp_path / "verdict.json").read_text())
    assert {*made["rules"]} == {"tokens", "states", "layers"}
    assert made["errors"]["tokens"]["fresh"]["all"]["networks"] > 0
    page = (tmp_path / "verdict.md").read_text()
    assert "This is a smaller try, not what was stated." in page
    main(["verdict", "--smoke", "--again", "--results", str(tmp_path)])
    assert json.loads((tmp_path / "verdict.json").read_text()) == made


def test_the_shipped_rule_is_what_the_shipped_texts_give(rows: pd.DataFrame) -> None:
    told = largest(shipped()["rules"]["tokens"])
    make = rows[(rows.side == "make") & rows.right_tokens.notna()]
    again = [
        fitted(make, "right_tokens", dict.fromkeys(told["weights"], 1), STATED | {"ridge": ridge})
        for ridge in STATED["ridges"]
    ]
    assert any(
        all(rule.weights[key] == pytest.approx(weight, abs=1e-3) for key, weight in told["weights"].items()) for rule in again
    )


def test_the_shipped_errors_are_those_of_the_shipped_rule(rows: pd.DataFrame) -> None:
    rules = {of: {name: rule_of(rule) for name, rule in each.items()} for of, each in shipped()["rules"].items()}
    networks = networks_about(rows, "tokens", rules)
    found = json.loads(json.dumps(errors(networks[networks.side == "fresh"], STATED)))
    assert found == shipped()["errors"]["tokens"]["fresh"]["all"]


def test_no_mechanism_that_the_errors_are_of_was_used_for_making_the_rule(rows: pd.DataFrame) -> None:
    used = {*rows[rows.side.isin(["make", "calibrate"])].mechanism}
    assert not used & {*rows[rows.side.isin(["error", "fresh"])].mechanism}


def test_what_stands_in_the_texts_is_the_population_that_was_stated(rows: pd.DataFrame) -> None:
    values, looks = ({*STATED[name], *STATED["added"][name]} for name in ("values", "looks"))
    constructed = rows[rows.source == "constructed"]
    assert {*constructed.value} == values
    assert {*constructed.look} == looks
    assert {*rows[rows.source == "trained"].kind} == {*STATED["trained"]["networks"]}


def test_the_trained_decoder_sees_only_what_stands_before() -> None:
    import torch

    torch.manual_seed(0)
    network = Decoder(26, 2, 16, layers=2, heads=2, feedforward_size=32).eval()
    tokens = torch.randint(1, 26, (2, 9))
    mask = torch.ones_like(tokens, dtype=torch.bool)
    changed = tokens.clone()
    changed[:, -1] = 1 + changed[:, -1] % 25
    with torch.no_grad():
        before, after = network.encode(tokens, mask), network.encode(changed, mask)
        assert torch.equal(before[:, :-1], after[:, :-1])
        shorter = mask.clone()
        shorter[:, -1] = False
        torch.testing.assert_close(network(tokens, shorter), network(tokens[:, :-1], mask[:, :-1]))


def test_the_page_says_that_a_goal_is_missed_on_trained_networks(tmp_path) -> None:
    words = write_page(tmp_path, shipped(), {}, {})
    told = words.split("About tokens, on 28 trained networks")[1]
    assert "answered 35.5% [4%, 83%]" in told
    assert "Goals missed: answered." in told
    untrained = {**shipped(), "errors": {of: {**each, "error": {}} for of, each in shipped()["errors"].items()}}
    assert "trained networks" not in write_page(tmp_path, untrained, {}, {})


@pytest.mark.parametrize(("name", "inside"), [("verdict", False), ("verdict-layers", True)])
def test_the_choice_of_training_gathers_what_the_verdict_reads(name: str, inside: bool) -> None:
    chosen = yaml.safe_load((configs_folder() / "experiments" / f"{name}.yaml").read_text())["experiments"]
    assert chosen.keys() - {"instances"} == needed(inside).keys()
    assert needed(inside)["E14"].items() <= chosen["E14"]["init_args"].items()
