"""``attest gate``: exit codes, lines for people, and a line of JSON by its published schema."""

import json
import subprocess

import jsonschema
import pytest

from attest.app.cli.main import main
from attest.core.places import configs_folder
from attest.runs.folder import RunFolder
from tests.conftest import without_places
from tests.forking import attest_command
from tests.report.made import VERDICT, decided, made_run

SCHEMA = json.loads((configs_folder() / "schemas" / "gate.schema.json").read_text())


@pytest.fixture
def run(tmp_path) -> RunFolder:
    """200 of 200 texts are decided rightly."""
    return made_run(tmp_path / "run", {"verdict": VERDICT}, decided([0, 1] * 100, [0, 1] * 100))


CODES = [
    (["test/accuracy>0.9"], 0),
    (["tokens=in part", "test/accuracy>0.9"], 0),
    (["tokens=yes", "test/accuracy>0.9"], 1),
    (["test/accuracy>0.999"], 2),
    (["tokens=in part", "test/accuracy>0.999"], 2),
    (["test/accuracy>0.999", "tokens=no"], 1),
]


def asked(requirements: list[str]) -> list[str]:
    return [word for each in requirements for word in ("--require", each)]


@pytest.mark.parametrize(("requirements", "code"), CODES)
def test_the_exit_code_and_the_line_of_json_say_the_same(run, requirements, code, capsys):
    assert main(["gate", str(run.path), *asked(requirements), "--json"]) == code
    (line,) = capsys.readouterr().out.splitlines()
    said = json.loads(line)
    jsonschema.validate(said, SCHEMA)
    assert said["outcome"] == ("pass", "fail", "undecided")[code]
    assert [each["require"] for each in said["requirements"]] == requirements
    assert said["folder"] == str(run.path)


def test_the_schema_is_one_and_refuses_what_is_not_said(run, capsys):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    main(["gate", str(run.path), "--require", "tokens=yes", "--json"])
    said = json.loads(capsys.readouterr().out)
    for wrong in ({"outcome": "maybe"}, {"requirements": []}, {"more": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(said | wrong, SCHEMA)


def test_people_read_a_line_for_each_requirement(run, capsys, snapshot):
    assert main(["gate", str(run.path), *asked(["tokens=yes", "test/accuracy>0.9"])]) == 1
    assert capsys.readouterr().out == snapshot


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["{run}"],
        ["{run}", "--require"],
        ["{run}", "--require", "tokens"],
        ["{run}/nowhere", "--require", "tokens=yes"],
        ["{run}/evidence", "--require", "tokens=yes"],
        ["{run}", "--require", "E2/tvd_median>0.1"],
        ["{run}", "--require", "tokens=yes", "--level", "0.1"],
    ],
)
def test_what_could_not_be_decided_has_an_exit_code_of_its_own(run, arguments, capsys, snapshot):
    assert main(["gate", *(each.format(run=run.path) for each in arguments)]) == 64
    said = capsys.readouterr()
    assert said.out == ""
    assert without_places(said.err) == snapshot


@pytest.mark.parametrize(
    ("requirement", "code"), [("tokens=in part", 0), ("tokens=yes", 1), ("test/accuracy>0.999", 2), ("tokens", 64)]
)
@pytest.mark.whole("commands in processes of their own")
def test_a_process_ends_with_the_exit_code(run, requirement, code):
    ended = subprocess.run(
        [*attest_command(), "gate", str(run.path), "--require", requirement], capture_output=True, timeout=120
    )
    assert ended.returncode == code
