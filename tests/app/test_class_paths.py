"""Settings that name classes of somebody else are told from those that name ours and torch's."""

import pytest

from attest.app.evaluating import strange_class

OURS = "attest.datamodules.NewsgroupsDataModule"
IN_A_LIST = {"class_path": "attest.models.networks.BiLSTM", "init_args": {"parts": [{"class_path": "torch.optim.Adam"}]}}


@pytest.mark.parametrize(
    ("settings", "known"),
    [
        ({"model": IN_A_LIST}, True),
        (
            {"model": {"class_path": "attest.models.networks.BiLSTM", "init_args": {"parts": [{"class_path": "mine.Adam"}]}}},
            False,
        ),
        (
            {"data": {"class_path": OURS, "init_args": {"groups": ["rec.sport.hockey"]}}},
            True,
        ),
        ({"data": {"class_path": "mine.Data", "init_args": {"groups": ["rec.sport.hockey"]}}}, False),
        (
            {
                "data": {
                    "class_path": "attest.datamodules.SstDataModule",
                    "init_args": {"parts": [{"class_path": "mine.Part"}]},
                }
            },
            False,
        ),
        ({"trainer": {"callbacks": [{"class_path": "torchmetrics.text.BERTScore"}]}}, False),
    ],
)
def test_classes_of_others_are_found_at_any_depth(settings, known):
    assert (strange_class(settings) is None) is known


def test_a_module_is_trusted_by_its_whole_name():
    settings = {"model": {"class_path": "mine.parts.Network"}}
    assert strange_class(settings, ["mine"]) is None
    assert strange_class(settings, ["mine.parts"]) is None
    assert strange_class(settings, [""]) is None
    assert strange_class(settings, ["min", "mine.part", "m", "parts"]) == "mine.parts.Network"
