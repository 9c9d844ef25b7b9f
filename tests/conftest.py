"""What all tests share: no network, no W&B cloud, one thread, and a small finished run to look at."""

import os
import tempfile

os.environ.update(
    HF_HUB_OFFLINE="1", WANDB_MODE="offline", WANDB_SILENT="true", WANDB_DATA_DIR=tempfile.mkdtemp(prefix="attest-tests-")
)

import atexit
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import hypothesis
import pytest
import torch

from attest.app.cli.main import main
from attest.core.errors import AttestError
from attest.runs.folder import RunFolder
from tests.cheap import draw_nothing

PLACE, OWNER = os.environ["WANDB_DATA_DIR"], os.getpid()
"""The folder of all temporary files of a session, and the process that removes it: copies of it end without tidying up."""
os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", os.path.dirname(PLACE))  # pytest itself keeps the folders of three sessions
os.environ["TMPDIR"] = tempfile.tempdir = PLACE
atexit.register(lambda: os.getpid() == OWNER and shutil.rmtree(PLACE, ignore_errors=True))

hypothesis.settings.register_profile("same every time", derandomize=True, deadline=None)
hypothesis.settings.load_profile("same every time")

SMALL_RUN = (
    "DATA=planted",
    "--data.init_args.rule=token",
    "--data.init_args.train_texts=320",
    "--data.init_args.validation_texts=100",
    "--data.init_args.test_texts=77",
    "--model.init_args.network.init_args.encoder.init_args.embedding_size=16",
    "--model.init_args.network.init_args.encoder.init_args.hidden_size=8",
    "--trainer.max_epochs=2",
    "--trainer.enable_progress_bar=false",
    "--run.processes=1",
)
"""A real run in a few seconds: 10 batches an epoch, two epochs, 77 test texts in three batches."""


EXPENSIVE = ("E1", "E3", "E10", "E11", "E12", "E13", "E14", "E15")
"""Experiments that take nine tenths of its evidence's time."""


def without(*experiments: str) -> tuple[str, ...]:
    """The options of a run that leaves some experiments out."""
    return tuple(f"--experiments.{name}=null" for name in experiments)


def pytest_collection_modifyitems(items):
    """Tests on the real corpora need the folder that holds them."""
    if not os.environ.get("ATTEST_DATA"):
        for item in items:
            if item.get_closest_marker("corpora"):  # keywords hold names of folders too
                item.add_marker(
                    pytest.mark.skip(reason="reads the real corpora: set ATTEST_DATA to the folder that holds them")
                )


DRAWING = {"report", "experiments", "docs", "judges", "tables"}
"""Folders of tests that look at figures."""


@pytest.fixture(scope="module", autouse=True)
def cheap_figures(request):
    """Elsewhere figures are empty; drawing them is a quarter of a small run."""
    with pytest.MonkeyPatch.context() as patch:
        parts = request.path.relative_to(Path(__file__).parent).parts
        if DRAWING.isdisjoint(parts) or "tracking" in parts:
            draw_nothing(patch.setattr)
        yield


def without_places(said: str) -> str:
    """Return what was said with the temporary folders of this session left out, for a snapshot."""
    return re.sub(r"/[^\s'\"]*/pytest-\d+/(popen-gw\d+/)?[^/\s'\"]+", "<tmp>", said)


@pytest.fixture
def refusal(snapshot) -> Callable[[], AbstractContextManager[None]]:
    """A block that must raise an AttestError, whose sentence is that of the snapshot."""

    @contextmanager
    def block() -> Iterator[None]:
        with pytest.raises(AttestError) as refused:
            yield
        assert without_places(str(refused.value)) == snapshot

    return block


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Results are bit-identical for equal numbers of threads; tests use one."""
    torch.set_num_threads(1)


def fresh_shell() -> dict[str, str]:
    """The environment of a process of its own: one thread, and not this process's W&B service, which would outlive a kill."""
    return {name: value for name, value in os.environ.items() if name != "WANDB_SERVICE"} | {"OMP_NUM_THREADS": "1"}


def only_folder(root: Path) -> RunFolder:
    """The one run below a root."""
    (config,) = root.glob("*/*/seed*/config.yaml")
    return RunFolder(config.parent)


BEST_FIRST = (
    *SMALL_RUN,
    *("EXPERIMENTS=none", "LOGGER=csv", "--run.monitor=validation/loss", "--run.mode=max"),
    "--data.init_args.train_texts=96",
)
"""The epoch with the largest loss is chosen, the first, so that best and last checkpoint differ."""


@pytest.fixture(scope="session")
def best_first_run(tmp_path_factory) -> RunFolder:
    """A finished run whose first epoch is the best; read it, do not change it."""
    root = tmp_path_factory.mktemp("best_first")
    assert main(["fit", *BEST_FIRST, f"--run.root={root}"]) == 0
    return only_folder(root)


@pytest.fixture(scope="session")
def small_run(tmp_path_factory) -> RunFolder:
    """A finished small run; read it, do not change it."""
    root = tmp_path_factory.mktemp("runs")
    assert main(["fit", *SMALL_RUN, f"--run.root={root}"]) == 0
    return only_folder(root)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    """Word pieces of a tiny vocabulary."""
    from transformers import BertTokenizerFast

    from tests.models.pretrained.tiny import WORDS

    file = tmp_path_factory.mktemp("words") / "vocab.txt"
    file.write_text("\n".join(WORDS))
    return BertTokenizerFast(str(file), model_max_length=64)


@pytest.fixture(scope="module")
def model():
    """A tiny classifier of transformers with two classes, for these word pieces."""
    from tests.models.pretrained.tiny import WORDS, tiny

    return tiny("bert", vocab_size=len(WORDS), id2label={0: "bad", 1: "good"}, label2id={"bad": 0, "good": 1}, num_labels=2)


@pytest.fixture
def corpora(tmp_path, monkeypatch):
    """A folder with a treebank of eleven sentences to test, one of them neutral, and with tagged words."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tests.models.pretrained.tiny import TEXTS

    place = tmp_path / "corpora"
    for name in ("sst", "conll2000"):
        (place / name).mkdir(parents=True)
    sentences = pa.table(
        {"text": [f"{text} {row}" for row in range(2) for text in TEXTS] + ["a film"], "label": [4, 0] * 5 + [2]}
    )
    for split in ("train", "validation", "test"):
        pq.write_table(sentences, place / "sst" / f"{split}.parquet")
    words = pa.table({"tokens": [["a", "film"]] * 3, "chunk_tags": [["B-NP", "I-NP"]] * 3})
    for split in ("train", "test"):
        pq.write_table(words, place / "conll2000" / f"{split}.parquet")
    monkeypatch.setenv("ATTEST_DATA", str(place))
