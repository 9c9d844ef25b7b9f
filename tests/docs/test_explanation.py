"""What explains Attest is true: the drawing of its rooms and imports, the files that are named, the kinds of evidence."""

import re
from pathlib import Path

import grimp
import pytest
import torch
import yaml

from attest.judges.metric import STATED
from docs.drawing import HOLDS, HOUSE, PURE, floors, house
from docs.projections_drawing import DRAWING, PROJECTIONS, first_of_two, projections

ROOT = Path(__file__).parents[2]
FLOOR = {room: number for number, row in enumerate(floors()) for room in row}


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("attest", include_external_packages=True)


def test_every_room_is_drawn():
    rooms = {path.parent.name for path in ROOT.glob("attest/*/__init__.py")}
    assert rooms == FLOOR.keys() == HOLDS.keys()
    assert len(floors()) <= 7
    assert HOUSE.read_text(encoding="utf-8") == house(), "type: make docs"


def test_the_drawing_of_projections_is_what_they_do_with_two_scores():
    """In two dimensions all three have a closed form."""
    difference = torch.linspace(-4, 4, 33, dtype=torch.float64)
    inside = difference.clamp(-2, 2)
    expected = {
        "softmax": difference.sigmoid(),
        "1.5-entmax": 0.5 + inside * (8 - inside.square()).sqrt() / 8,
        "sparsemax": ((1 + difference) / 2).clamp(0, 1),
    }
    assert PROJECTIONS.keys() == expected.keys()
    for name, projection in PROJECTIONS.items():
        torch.testing.assert_close(first_of_two(projection, difference), expected[name], atol=1e-9, rtol=0)
    assert DRAWING.read_text(encoding="utf-8") == projections(), "type: make docs"


def test_every_import_between_rooms_goes_down(graph):
    """Not sideways either, so that there is no circle on a floor; imports in functions and of types alone count."""
    wrong = {
        (module, imported)
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
        if room(module) in FLOOR and room(imported) in {*FLOOR, ""} - {room(module)} and imported.startswith("attest")
        if FLOOR.get(room(imported), -1) <= FLOOR[room(module)]
    }
    assert wrong == set()


def test_rooms_with_a_thick_border_are_those_without_lightning_and_wandb(graph):
    loud = {"pytorch_lightning", "lightning_fabric", "wandb"}
    importing = {room(module) for name in loud & graph.modules for module in graph.find_modules_that_directly_import(name)}
    assert {"callbacks", "report"} <= importing
    assert importing & PURE == set()


def test_every_file_that_the_architecture_names_is_there():
    named = re.findall(r"`((?:attest|configs)/[\w/.]+)`", (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
    assert len(named) > 5
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_page_on_evidence_explains_every_defendant():
    page = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    tables = {name for names in re.findall(r"^\| (\w+(?:, \w+)*) \| ", page, flags=re.MULTILINE) for name in names.split(", ")}
    assert {*yaml.safe_load(STATED.read_text(encoding="utf-8"))["defendants"]} - {"honest"} <= tables
