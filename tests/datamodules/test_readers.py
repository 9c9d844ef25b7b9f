"""A corpus is read without a Trainer, prepared once, and refuses settings that make no sense."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from attest.core.catalogue import CATALOGUE
from attest.core.errors import AttestError
from attest.datamodules import PlantedDataModule, SstDataModule
from attest.datamodules.base import TextDataModule
from attest.datamodules.labelled import stored_corpora
from attest.datamodules.stored import QuestionDataModule


@pytest.fixture
def sst(tmp_path, monkeypatch):
    """A small SST."""
    monkeypatch.setenv("ATTEST_DATA", str(tmp_path / "data"))
    texts = ["A good film for everyone .", "A bad film for nobody .", "Bad ! It is longer than all of the others ."]
    for split in ("train", "validation", "test"):
        file = tmp_path / "data" / "sst" / f"{split}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"text": [f"{split} {text}" for text in texts], "label": [4, 0, 1]}), file)


def test_every_corpus_that_is_listed_has_its_datamodule():
    assert all(reader.folder == name for name, reader in stored_corpora().items())


def test_corpora_with_questions_are_known_without_their_datamodules():
    with_questions = {name for name, reader in stored_corpora().items() if issubclass(reader, QuestionDataModule)}
    assert with_questions == {name for name, source in CATALOGUE.items() if source.questions}


@pytest.mark.usefixtures("sst")
def test_a_recipe_of_ones_own_is_prepared():
    class Shouted(SstDataModule):
        def tokenise(self, texts: pa.Array) -> pa.Array:
            return pa.array([text.upper().split() for text in texts.to_pylist()])

    assert SstDataModule(protocol="plain").corpus.train.tokens[1][:2] == ["train", "a"]
    assert Shouted(protocol="plain").corpus.train.tokens[1][:2] == ["TRAIN", "A"]


@pytest.mark.usefixtures("sst")
@pytest.mark.parametrize("name", ["min_df", "max_words", "max_tokens", "texts"])
def test_a_corpus_refuses_a_number_that_makes_no_sense(name):
    with pytest.raises(AttestError, match=rf"`{name}` is 0; expected a whole number from 1"):
        _ = SstDataModule(**{name: 0}).corpus


def test_a_datamodule_refuses_workers_below_zero(refusal):
    with refusal():
        _ = PlantedDataModule(num_workers=-1).corpus


def test_a_datamodule_that_does_not_read_says_so():
    with pytest.raises(NotImplementedError, match=r"TextDataModule must say where its texts come from: define read\."):
        _ = TextDataModule().corpus
