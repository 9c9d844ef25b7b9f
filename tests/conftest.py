"""What all tests share: no network, no W&B cloud, few threads, and a small finished run to look at."""

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

from attest.core.errors import AttestError
from attest.runs.folder import RunFolder
from tests.cheap import draw_nothing
from tests.finished_runs import Library

ROOT = Path(__file__).parent
PLACE, OWNER = os.environ["WANDB_DATA_DIR"], os.getpid()
"""The folder of all temporary files of a session, and the process that removes it: copies of it end without tidying up."""
os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", os.path.dirname(PLACE))  # pytest itself keeps the folders of three sessions
os.environ["TMPDIR"] = tempfile.tempdir = PLACE
atexit.register(lambda: os.getpid() == OWNER and shutil.rmtree(PLACE, ignore_errors=True))

hypothesis.settings.register_profile("same every time", derandomize=True, deadline=None)
hypothesis.settings.load_profile("same every time")


SLOWEST = (
    *("app/cli/test_kills.py", "app/test_parallel.py", "app/cli/test_adversarial.py", "app/test_resume.py"),
    *("app/test_layers.py", "runs/test_belonging.py", "datamodules/test_counts.py"),
    *("app/cli/test_cli.py", "lightning_modules/test_configs.py", "report/test_page.py", "app/cli/test_bad_inputs.py"),
    *("report/test_pictures.py", "app/cli/test_trial.py", "app/api/test_foreign.py"),
)
"""Files that are begun first, so that no worker is left alone with one of them at the end."""


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what ``-m`` does not ask for
def pytest_collection_modifyitems(items):
    """Tests on the real corpora are whole, and need the folder that holds them; the slowest files come first."""
    for item in items:
        if item.get_closest_marker("corpora"):  # keywords hold names of folders too
            item.add_marker(pytest.mark.whole("a real corpus"))
            if not os.environ.get("ATTEST_DATA"):
                item.add_marker(
                    pytest.mark.skip(reason="reads the real corpora: set ATTEST_DATA to the folder that holds them")
                )
        if any(len(mark.args) != 1 for mark in item.iter_markers("whole")):
            raise pytest.UsageError(f'{item.nodeid} is whole without a reason; expected @pytest.mark.whole("<reason>").')
    first = {ROOT / file: place for place, file in enumerate(SLOWEST)}
    items.sort(key=lambda item: first.get(item.path, len(first)))


LEFT_OUT = pytest.StashKey[int]()
"""How many tests ``-m`` left out."""


def pytest_deselected(items):
    config = items[0].config
    config.stash[LEFT_OUT] = config.stash.get(LEFT_OUT, 0) + len(items)
    if hasattr(config, "workeroutput"):  # every worker collects all tests; its controller, none
        config.workeroutput["left out"] = config.stash[LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left out", 0)


def pytest_terminal_summary(terminalreporter, config):
    """Say what ``make test`` left out: the last line before pytest's own."""
    if config.option.markexpr == "not whole":
        left = config.stash.get(LEFT_OUT, 0)
        terminalreporter.write_line(
            f"Left out: {left:,} tests that take long: runs from beginning to end, killed commands, many models, "
            "repetitions, cold installs, real corpora. Type make test-whole to run them, or make test-all to run all tests."
        )


DRAWING = {"report", "experiments", "docs", "judges", "replication"}
"""Folders of tests that look at figures."""


@pytest.fixture(scope="module", autouse=True)
def cheap_figures(request):
    """Elsewhere figures are empty; drawing them is a quarter of a small run."""
    with pytest.MonkeyPatch.context() as patch:
        parts = request.path.relative_to(ROOT).parts
        if DRAWING.isdisjoint(parts) or "tracking" in parts:
            draw_nothing(patch.setattr)
        yield


def without_places(said: str) -> str:
    """Return what was said with the temporary folders of this session left out, for a snapshot."""
    return re.sub(r"/[^\s'\"]*/pytest-\d+/(popen-gw\d+/)?[^/\s'\"]+", "<tmp>", said)


def without_numbers(said: str) -> str:
    """Return what was said with shares and decimals left out, for a snapshot of words that stand around computed numbers.

    The last digits of what a network computes depend on the processor.
    """
    return re.sub(r"−?\d+(\.\d+)?\xa0%|−?\d+\.\d{3,}", "…", said)


@pytest.fixture
def refusal(snapshot) -> Callable[[], AbstractContextManager[None]]:
    """A block that must raise an AttestError, whose sentence is that of the snapshot, but for the list of all experiments."""

    @contextmanager
    def block() -> Iterator[None]:
        with pytest.raises(AttestError) as refused:
            yield
        assert EVERY_EXPERIMENT.sub("one or more of: …", without_places(str(refused.value))) == snapshot

    return block


EVERY_EXPERIMENT = re.compile(r"one or more of: (\w+, )*E\d+(, \w+)+")
"""A list of ids of experiments, which is longer with each new one."""


THREADS = int(os.environ.get("OMP_NUM_THREADS", "1"))
"""As OMP_NUM_THREADS says; one where it is not set.

Results are bit-identical for equal numbers of threads, so all tests use as many, and the processes that they start, too.
"""


torch.set_num_threads(THREADS)


@pytest.fixture(autouse=True)
def equal_threads():
    """Set the threads back after a test, because ``attest trial`` uses one."""
    yield
    torch.set_num_threads(THREADS)


@pytest.fixture
def one_thread(equal_threads):
    """Use one thread, as a process must to be copied, and as commands do by default."""
    torch.set_num_threads(1)


def fresh_shell() -> dict[str, str]:
    """The environment of another process: equal threads, and not this process's W&B service, which would outlive a kill."""
    return {name: value for name, value in os.environ.items() if name != "WANDB_SERVICE"} | {"OMP_NUM_THREADS": str(THREADS)}


@pytest.fixture(scope="session")
def library(tmp_path_factory, worker_id) -> Library:
    """The finished runs of this session, which all workers share."""
    base = tmp_path_factory.getbasetemp()
    place = base if worker_id == "master" else base.parent
    return Library(place)


@pytest.fixture(scope="module", autouse=True)
def lent_runs_stay(library):
    """A run that was changed would change what other tests find."""
    yield
    assert not library.changed(), "a test changed a run of tests/finished_runs.py; let it take a copy (copy_of)"


@pytest.fixture(scope="session")
def best_first_run(library) -> RunFolder:
    """A finished run whose first epoch is the best; read it, do not change it."""
    return library.run("best-first")


@pytest.fixture(scope="session")
def small_run(library) -> RunFolder:
    """A finished small run with every experiment and its figures; read it, do not change it."""
    return library.run("small")


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
