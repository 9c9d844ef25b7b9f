"""A model that is read from a folder computes attention as the same model does when its owner has loaded it."""

import json
import re

import pytest
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification
from transformers.utils import logging

import attest
from attest.core.errors import AttestError
from attest.models.pretrained.loading import load
from attest.models.pretrained.subwords import Subwords
from tests.models.pretrained.tiny import TEXTS, WORDS, tiny


def saved(name, tokenizer, folder) -> str:
    tiny(name, vocab_size=len(WORDS)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.mark.parametrize("name", ["bert", "llama", "gpt_oss"])
def test_the_library_chooses_how_attention_is_computed(name, tokenizer, tmp_path):
    folder = saved(name, tokenizer, tmp_path)
    model, _ = load(folder)
    own = AutoModelForSequenceClassification.from_pretrained(folder)
    assert model.config._attn_implementation == own.config._attn_implementation


def test_soft_caps_are_kept(tokenizer, tmp_path):
    folder = saved("gemma2", tokenizer, tmp_path)
    assert load(folder)[0].config._attn_implementation == "eager"
    assert attest.trial(folder, TEXTS, ["E2"], progress=False).summary["E2/tvd_median/mean"] > 0


@pytest.mark.parametrize("bars", [True, False])
def test_what_transformers_tells_is_as_it_was_before(bars, folder):
    before = logging.get_verbosity()
    (logging.enable_progress_bar if bars else logging.disable_progress_bar)()
    logging.set_verbosity_info()
    try:
        load(str(folder))
        Subwords(str(folder))
        assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == (logging.INFO, bars)
    finally:
        logging.set_verbosity(before)
        logging.enable_progress_bar()


def refused(folder) -> str:
    with pytest.raises(AttestError) as told:
        load(str(folder))
    return str(told.value).replace(str(folder), "<folder>")


@pytest.fixture
def folder(model, tokenizer, tmp_path):
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    return tmp_path


def with_settings(folder, **changed):
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(settings | changed))


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_pointer_of_git_lfs_is_named(file, folder):
    (folder / file).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n")
    assert refused(folder).startswith(f"<folder>/{file} is a pointer of Git LFS")


@pytest.mark.parametrize("prefix", ["model.", "module.", "_orig_mod.", "net.model."])
def test_what_stands_before_the_names_of_weights_is_named(prefix, folder):
    weights = load_file(folder / "model.safetensors")
    save_file({prefix + name: each for name, each in weights.items()}, folder / "model.safetensors", {"format": "pt"})
    assert refused(folder).startswith(f"the names of the weights of <folder> begin with {prefix!r}")


def test_weights_that_are_missing_are_counted(folder, snapshot):
    weights = load_file(folder / "model.safetensors")
    save_file(
        {name: each for name, each in weights.items() if "layer.0" in name}, folder / "model.safetensors", {"format": "pt"}
    )
    assert refused(folder) == snapshot
    (folder / "model.safetensors").unlink()
    assert refused(folder) == snapshot
    (folder / "pytorch_model.bin").write_bytes(b"")
    assert "only pytorch_model.bin, which could run code" in refused(folder)


def test_a_missing_shard_is_named(model, tokenizer, tmp_path):
    model.save_pretrained(tmp_path, max_shard_size="5KB")
    tokenizer.save_pretrained(tmp_path)
    last = max(tmp_path.glob("*.safetensors"))
    last.unlink()
    assert re.search(rf"1 of the \d+ files of weights of <folder> are missing \({last.name}\)", refused(tmp_path))


def test_a_shape_that_does_not_fit_is_told_with_both_shapes(folder, snapshot):
    with_settings(folder, id2label={"0": "a", "1": "b", "2": "c"}, label2id={"a": 0, "b": 1, "c": 2})
    assert refused(folder) == snapshot


@pytest.mark.parametrize(("key", "value"), [("num_labels", 10**6), ("num_hidden_layers", 300)])
def test_nothing_is_built_of_more_parts_than_the_weights_have(key, value, folder):
    """Of 10**9 either would take all memory or years; these take seconds."""
    with_settings(folder, **{key: value})
    assert f"config.json says {key} {value}, and the model has" in refused(folder)


@pytest.mark.parametrize("key", ["vocab_size", "max_position_embeddings", "intermediate_size"])
def test_no_memory_is_taken_for_sizes_that_the_weights_do_not_have(key, folder):
    with_settings(folder, **{key: 10**10})
    assert "its config.json asks for the shape (10000000000," in refused(folder)


@pytest.mark.parametrize("held", ["[1]", "3", "null", '{"architectures": [3]}', "{"])
def test_a_config_that_holds_no_settings_is_refused(held, folder, snapshot):
    (folder / "config.json").write_text(held)
    assert refused(folder) == snapshot


@pytest.mark.parametrize("longest", ["many", -5, 0, 2, True, [3]])
def test_a_longest_text_without_room_for_a_word_is_refused(longest, folder):
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"model_max_length": longest}))
    assert refused(folder).startswith(f"the tokenizer reads at most {longest!r} tokens of a text (model_max_length)")
