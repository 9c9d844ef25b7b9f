"""``attest roar``: models trained anew on texts without what a reading ranks first."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attest.app.cli.main import main
from attest.core.errors import AttestError
from attest.core.measures.summary import area_between
from attest.datamodules.corpus import Documents
from attest.datamodules.encoded import EncodedDocuments, read_erased
from attest.datamodules.vocabulary import Vocabulary
from attest.runs.folder import RunFolder, read_json
from tests.finished_runs import ONE_EPOCH, SMALL_TRAINING, copy_of, only_folder, typed

TEXTS = {"train": 96, "validation": 32, "test": 31}
FEW = tuple(f"--data.init_args.{split}_texts={texts}" for split, texts in TEXTS.items())
ROAR = ("roar", *SMALL_TRAINING, *FEW, "EXPERIMENTS=none", "LOGGER=csv", "STEPS=3", *ONE_EPOCH)


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> RunFolder:
    """Not of the library: its steps name the files of what was erased by their whole paths, so that no copy goes on."""
    root = tmp_path_factory.mktemp("roar")
    assert main(typed(ROAR, f"--run.root={root}")) == 0
    return only_folder(root)


def only(folders) -> Path:
    (folder,) = folders
    return folder


@pytest.mark.whole("six trainings in a row")
def test_each_step_erases_its_share_and_keeps_what_was_erased_before(base):
    first = only(base.path.glob("erased-attention-1of3.parquet"))
    second = only((base.path / "roar").glob("attention-1of3*/erased-attention-2of3.parquet"))
    for split, texts in TEXTS.items():
        before, after = read_erased(first, split), read_erased(second, split)
        assert len(before) == texts
        for identity, gone in before.items():
            assert gone.sum() == np.ceil(len(gone) / 3 - 1e-9)
            assert after[identity].sum() == np.ceil(2 * len(gone) / 3 - 1e-9)
            assert (after[identity] >= gone).all()


@pytest.mark.whole("six trainings in a row")
def test_the_heaviest_tokens_of_the_base_go_first(base, tmp_path):
    copy = copy_of(base, tmp_path)
    main(["evidence", "--run", str(copy.path), "instances"])
    gone = read_erased(base.path / "erased-attention-1of3.parquet", "test")
    rows = pd.read_parquet(copy.evidence("instances")).set_index("id")["attention"]
    for identity, weights in rows.items():
        assert weights[gone[identity]].min() >= weights[~gone[identity]].max(initial=0) - 1e-6


@pytest.mark.whole("six trainings in a row")
def test_curves_begin_at_the_base_and_end_without_any_token(base):
    summary = read_json(base.path / "roar" / "summary.json")
    shares = [0, 1 / 3, 2 / 3, 1]
    attention, random = ([summary[f"{name}/{share:g}"] for share in shares] for name in ("attention", "random"))
    assert attention[0] == random[0] == read_json(base.summary)["test/accuracy"]
    assert attention[3] == random[3]
    np.testing.assert_allclose(summary["attention/area"], area_between(shares, random, attention), atol=1e-12)
    page = (base.path / "roar" / "report.html").read_text(encoding="utf-8")
    assert "Recursive ROAR of planted" in page


@pytest.mark.whole("six trainings in a row")
def test_nothing_is_trained_twice(base):
    checkpoints = {path: path.stat().st_mtime_ns for path in base.path.rglob("best.ckpt")}
    assert main(typed(ROAR, f"--run.root={base.path.parents[2]}")) == 0
    assert {path: path.stat().st_mtime_ns for path in base.path.rglob("best.ckpt")} == checkpoints
    assert len(checkpoints) == 6, "the base, two steps of two readings, and the one without any token"


def test_a_reading_that_is_none_is_refused_before_anything_is_trained(tmp_path, capsys):
    assert main(typed(ROAR, f"--run.root={tmp_path}", "READING=attentoin")) == 2
    assert "READING=attentoin is not known" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def encoded() -> EncodedDocuments:
    tokens = [["a", "fine", "film"], ["dull"]]
    documents = Documents.of([4, 9], tokens, label=[1, 0])
    return EncodedDocuments(documents, Vocabulary.fit(tokens))


def test_erased_tokens_are_unknown_and_the_rest_stays():
    texts = encoded()
    batch = texts.without({9: np.array([True]), 4: np.array([False, True, False])}).__getitems__([0, 1])
    whole = texts.__getitems__([0, 1])
    assert batch["token_ids"].tolist() == [[whole["token_ids"][0, 0], 1, whole["token_ids"][0, 2]], [1, 0, 0]]
    assert texts.__getitems__([0])["token_ids"].min() > 1, "the texts themselves stay"


@pytest.mark.parametrize("erased", [{4: np.zeros(3, dtype=bool)}, {4: np.zeros(2, dtype=bool), 9: np.zeros(1, dtype=bool)}])
def test_a_table_of_other_texts_is_refused(erased):
    with pytest.raises(AttestError, match="erased names a file for other texts"):
        encoded().without(erased)


def test_a_table_that_is_not_there_is_named(tmp_path, refusal):
    with refusal():
        read_erased(tmp_path / "none.parquet", "train")
