"""Compare the answers of a pipeline of transformers with what is tested, its model without the pipeline's settings.

Legend: N texts, T tokens, K classes.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any

import torch
from torch import Tensor

from attest.app.api.batches import Batch
from attest.app.api.measuring import inputs_of
from attest.core.errors import AttestError, said_by
from attest.core.rounding import rounding
from attest.models.inputs import Inputs
from attest.models.prediction import kind_of, says_number

STAGES = ("_preprocess_params", "_forward_params", "_postprocess_params")
"""The attributes in which a ``transformers`` pipeline keeps its settings for preprocessing, forward pass and
postprocessing."""
HARMLESS = ("top_k", "_legacy", "is_split_into_words", "delimiter", "ignore_labels")
"""Settings of a pipeline that change no score: they choose the scores that it returns, or the form of its input."""
JOINING = ("AVERAGE", "MAX")
"""Values of a pipeline's ``aggregation_strategy`` with which it computes the tag of a word from the scores of several tokens.
Such pipelines are refused, because a trial tests the decision at one token."""
CUTS = {"truncation", "max_length", "tokenizer_params"}
"""Settings by which a pipeline truncates long texts or reads them in windows."""
ITSELF = "the model itself: attest.trial(pipeline.model, …, tokenizer=pipeline.tokenizer)"
CLOSE = 1e-4
"""The largest difference at which scores of a pipeline and of its model count as equal, in single precision; multiplied by the
largest score if that is above 1."""
COMPARED = 8
"""The number of texts, the longest of a batch, on which a pipeline's answers are compared with those of its model; fewer if
the batch has fewer."""
Apart = Callable[[str], float]
"""A function that takes the name of a setting of a pipeline and returns how much the outputs of the pipeline without this
setting differ from those of its model: the largest difference of scores, or 1 if token ids differ and else 0. For an empty
string the pipeline keeps all its settings."""


def pipeline_in(model: Any) -> Any:
    """Return a model if it is a pipeline of transformers, else None."""
    library = sys.modules.get("transformers.pipelines.base")
    return model if library is not None and isinstance(model, library.Pipeline) else None


def require_own_answers(
    pipeline: Any, network: Any, encode: Any, texts: Sequence[Any], batch: Batch, window: int | None
) -> None:
    """Refuse a pipeline whose answers are not those of the network, by the name of the setting that makes the difference.

    The longest texts of the batch are compared. Texts that are cut or read in several windows are left out, unless the
    pipeline itself cuts texts.

    Args:
        pipeline: made by transformers for one of the tasks in ``foreign.TASKS``.
        network: the network that is tested, in evaluation mode.
        encode: the encoder of Attest that read the texts.
        texts: N strings, pairs of strings or lists of words, those of ``batch``.
        window: the largest number of tokens of a window; None if texts are not read in windows.
    Raises:
        AttestError: the answers differ by more than rounding, or the pipeline does not answer.
    """
    tokens, mask = batch["token_ids"], batch["mask"].bool()
    fits = mask.sum(dim=-1) <= window if window is not None else mask.sum(dim=-1) < encode.longest
    rows = [row for row, fit in enumerate(fits.tolist()) if fit or (window is None and CUTS & _settings(pipeline).keys())]
    rows = rows[-COMPARED:]  # the longest, which a setting cuts first
    if encode.prompt is not None:
        for row in rows:
            require_own_prompt(pipeline, encode.prompt.about(texts[row]), tokens[row][mask[row]].tolist())
    elif rows:
        asked = [batch["asked"].tolist()[row] for row in rows] if kind_of(network).asks else None
        read = inputs_of(batch, network).rows(torch.tensor(rows))
        _require_own_scores(pipeline, network, [texts[row] for row in rows], read, asked)


def _require_own_scores(pipeline: Any, network: Any, texts: Sequence[Any], read: Inputs, asked: Sequence[int] | None) -> None:
    given = _settings(pipeline).get("aggregation_strategy")
    strategy = given.name if isinstance(given, Enum) else ""
    if strategy in JOINING:
        raise AttestError(
            f"the pipeline has aggregation_strategy={strategy.lower()!r}, which computes the tag of a word from all its "
            f"tokens; expected 'first', 'simple' or 'none', where one token decides. Or give {ITSELF}"
        )
    with torch.no_grad():
        logits = read.read_by(network)
    ours = logits if says_number(network) else logits.softmax(dim=-1) if asked is None else logits.sigmoid()
    rows = [row[real].float().cpu() if row.ndim > 1 else row.float().cpu() for row, real in zip(ours, read.mask, strict=True)]
    labels = [None] * len(rows) if asked is None else [pipeline.model.config.id2label[label] for label in asked]

    def apart(without: str) -> float:
        found = zip(texts, rows, labels, strict=True)
        return max(_distance(_answer(pipeline, text, own.ndim > 1, without), own, label) for text, own, label in found)

    _require_close(pipeline, apart, max(CLOSE, rounding(logits.dtype)) * max(1.0, float(ours.abs().max())), "scores")


def require_own_prompt(pipeline: Any, prompt: str, ids: Sequence[int]) -> None:
    """Refuse a pipeline that makes other token ids of a prompt than those which are tested, by the name of the setting."""

    def apart(without: str) -> float:
        read = pipeline.preprocess(prompt, **_settings(pipeline, STAGES[:1], without))
        return float(read["input_ids"][0].tolist() != [*ids])

    _require_close(pipeline, apart, 0.5, "token ids")


def _require_close(pipeline: Any, apart: Apart, within: float, what: str) -> None:
    try:
        most = apart("")
    except Exception as error:  # a pipeline may be anybody's class
        raise AttestError(
            f"the pipeline does not answer the texts of the trial ({said_by(error)}); expected a pipeline that answers them. "
            f"Or give {ITSELF}"
        ) from error
    if most <= within:
        return
    settings = {name: value for name, value in _settings(pipeline).items() if name not in HARMLESS}
    guilty = [name for name in settings if _explains(apart, name, within)] or [*settings]
    shown = ", ".join(f"{name}={_plain(settings[name])!r}" for name in guilty)
    by = "" if what == "token ids" else f" by up to {most:.2g}"
    raise AttestError(
        f"the {what} of the pipeline differ from those of its model{by}, because of "
        f"{shown or 'its tokenizer or of what it computes after its model'}; expected a pipeline with the {what} of the model "
        f"and the tokenizer that are tested. {'Leave the setting out, or give' if shown else 'Give'} {ITSELF}"
    )


def _explains(apart: Apart, name: str, within: float) -> bool:
    try:
        return apart(name) <= within
    except Exception:  # without a setting that another one needs
        return False


def _settings(pipeline: Any, stages: Sequence[str] = STAGES, without: str = "") -> dict[str, Any]:
    """Return the settings that a pipeline was made with, by name, but for one."""
    found = {name: value for stage in stages for name, value in getattr(pipeline, stage, {}).items()}
    return {name: value for name, value in found.items() if name != without}


def _plain(setting: Any) -> Any:
    return setting.value if isinstance(setting, Enum) else setting


def _answer(pipeline: Any, text: Any, tags: bool, without: str) -> list[dict[str, Any]]:
    """Return all scores of a pipeline for a text, or for a tagger the best score of each token."""
    before, during, after = (_settings(pipeline, [stage], without) for stage in STAGES)
    with _where_its_model_is(pipeline):
        if tags:
            strategy = type(after.get("aggregation_strategy", "none"))
            after |= {"ignore_labels": [], "aggregation_strategy": "none" if strategy is str else strategy("none")}
            parts = pipeline.preprocess([*text], **before | {"is_split_into_words": True, "delimiter": " "})
            return list(pipeline.postprocess([pipeline.forward(part, **during) for part in parts], **after))
        given = {"text": text[0], "text_pair": text[1]} if isinstance(text, tuple) else text
        output = pipeline.forward(pipeline.preprocess(given, **before), **during)
        return list(pipeline.postprocess(output, **after | {"top_k": None, "_legacy": False}))


def _distance(found: Sequence[dict[str, Any]], own: Tensor, label: Any) -> float:
    """Return the largest difference between scores of a pipeline and those of the network, ``(K,)`` or ``(T, K)``."""
    scores = torch.tensor([float(each["score"]) for each in found])
    if own.ndim > 1:
        places = torch.tensor([int(each["index"]) for each in found])
        if len({*places.tolist()}) < len(places) or (places >= len(own)).any():
            return 1.0  # the pipeline reads other tokens
        return float((scores - own.amax(dim=-1)[places]).abs().max())
    if label is not None:
        return float((scores - own).abs()[[each["label"] == label for each in found]].min())
    return float((scores.sort().values - own.sort().values).abs().max())


@contextmanager
def _where_its_model_is(pipeline: Any) -> Iterator[None]:
    """Let a pipeline compute on the device on which its model is during a trial."""
    before, pipeline.device = pipeline.device, pipeline.model.device
    try:
        yield
    finally:
        pipeline.device = before
