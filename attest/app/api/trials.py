"""The function ``attest.trial``, which tests the attention of any model without training; it returns tables, numbers and
a report.
"""

import shutil
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

import torch
from torch import nn

from attest.app.api import answers as spans
from attest.app.api import foreign
from attest.app.api.asked import written
from attest.app.api.batches import Batch, Encode, Words, attended, batches_of, in_batches
from attest.app.api.choices import made_choices, numbered
from attest.app.api.explanations import TEXTS_COMPARED, Explanations, require_one_decision, signs_of, with_explanations
from attest.app.api.given import Given, given, with_types
from attest.app.api.long_texts import about_windows, in_windows, require_readable, require_suited
from attest.app.api.measuring import Measuring, TaggedMeasuring, device_of, tagged_batches
from attest.app.api.multilabel import DECISIONS, asked_of, labels_of
from attest.app.api.one_number import NumberMeasuring, numbers_of, scale_of
from attest.app.api.pipelines import pipeline_in, require_own_answers
from attest.app.api.rationales import Rationales, with_marks
from attest.app.api.run import Outcome, Run, open_run
from attest.app.places import temporary_folder
from attest.core.attention.interventions import uncompiled
from attest.core.bounds import require_bounds
from attest.core.devices import device_named
from attest.core.errors import AttestError
from attest.core.labels import class_numbers, doubt, names_of
from attest.core.memory import budget_kept, in_evaluation_mode, set_memory_budget
from attest.core.modes import as_it_is, one_at_a_time
from attest.datamodules.notice import say
from attest.experiments.erasure import Background
from attest.experiments.readings import READINGS
from attest.experiments.registry import EXPERIMENTS, INSIDE, chosen, runnable, suited
from attest.experiments.verdict import NEEDED
from attest.models.contract import STEPS, require_finite_weights, require_itself, require_steps, shown_class
from attest.models.prediction import says_number
from attest.report.explained_text import ExplainedText
from attest.report.page import write_report
from attest.runs.folder import TRIAL, UNFINISHED, RunFolder, write_text
from attest.runs.identity import table_of

Experiments = Iterable[str] | Mapping[str, Mapping[str, Any]]
ALL = "all"
"""Every experiment that suits the model, in the place of ids."""


class Trial(Outcome):
    """The result of ``attest.trial``: numbers, tables and report. Call ``save`` to keep its files."""

    def __init__(self, model: str) -> None:
        place = temporary_folder()
        super().__init__(RunFolder(place / model / "trial"))
        self._model = model
        weakref.finalize(self, shutil.rmtree, place, ignore_errors=True)

    @property
    def name(self) -> str:
        """Return the title of the trial: its name if it was given one, else the model class and the number of tested texts."""
        if given := self.settings[TRIAL].get("name"):
            return str(given)
        path = table_of(self.folder)
        if path is None:
            return f"{self._model} on 0 texts"
        rows = self.table(path.stem)
        tested = f"{len(rows)} labels of {rows['text'].nunique()}" if "asked" in rows else f"{len(rows)}"
        return f"{self._model} on {tested} texts"

    def explain(self, identity: int) -> ExplainedText:
        """Return a tested text with its prediction and its explanations, each with one weight for each token.

        Args:
            identity: its id: the place in a list of texts, or the ``id`` that its batch gave it.
        Raises:
            AttestError: no text has this id.
        """
        return self.tested(identity)

    def save(self, path: str | Path) -> Run:
        """Write tables, numbers, figures and report into a folder that ``attest report`` can read.

        Args:
            path: the path of a folder that is empty or does not exist.
        Raises:
            AttestError: the folder is not empty or cannot be written.
        """
        folder = RunFolder(Path(path))
        with folder.claimed_anew():
            return self.write_into(folder)

    def write_into(self, folder: RunFolder) -> Run:
        """Write all files of the trial in place of those in the given folder, and return the folder as a finished run."""
        write_text(folder.path / UNFINISHED, "")
        folder.empty()
        shutil.copytree(self.folder.path, folder.path, dirs_exist_ok=True)
        write_report(folder)
        (folder.path / UNFINISHED).unlink()
        return open_run(folder.path)


@one_at_a_time()
@uncompiled()
def trial(
    model: Any,
    data: Iterable[Any],
    experiments: Experiments | None = None,
    *,
    tokenizer: Any = None,
    encode: Encode | None = None,
    labels: Sequence[Any] | None = None,
    words: Words | None = None,
    label_names: Sequence[str] | None = None,
    background: Sequence[str] | Sequence[Sequence[int]] | None = None,
    seed: int = 0,
    batch_size: int = 32,
    memory_gib: float = 1.0,
    max_tokens: int = 3000,
    progress: bool = True,
    processes: int | Literal["ranks"] = 1,
    until: float | None = None,
    prompt: str | None = None,
    answers: Mapping[str, str] | None = None,
    window: int | None = None,
    stride: int = 0,
    pooled: str = "mean",
    text_column: str | None = None,
    second_column: str | None = None,
    label_column: str | None = None,
    device: str | torch.device | None = None,
    explanations: Explanations | None = None,
    reading: str | None = None,
    readings: Sequence[str] | None = None,
    rationales: Rationales | None = None,
    name: str | None = None,
) -> Trial:
    """Test the attention of a model as an explanation of its predictions, on the given texts.

    Args:
        model: an ``nn.Module`` with the methods ``encode``, ``score``, ``project`` and ``decode`` (see
            ``attest.experiments.Network``), or a LightningModule that has such a ``network``; a Transformer ``forward(tokens,
            mask)`` of your own; or a model of the library transformers that classifies texts or tokens, its folder or Hub id,
            or a pipeline of it. The model is in evaluation mode during the trial, and does not change.
        data: a list or a column of texts, of pairs of texts ``(first, second)`` where the model reads two, or of lists of
            words, or of ``(text, choices)``; a DataFrame or a ``datasets.Dataset``; what a tokenizer gives, with
            ``input_ids``; or batches, dictionaries with ``token_ids`` int64 (B, T) and ``mask`` bool (B, T), True at real
            tokens, and optionally ``label`` int64 (B,), ``id`` int64 (B,), ``special`` bool (B, T), True at tokens such as
            [CLS] that are neither ranked nor erased, and ``tokens``, the words of each text.
        experiments: ids, ``("E1", "E2")``, or settings by id, ``{"E2": {"permutations": 20}}``; None for those that the
            verdict needs, ``"all"`` for all that suit the model.
        tokenizer: the tokenizer of a model of transformers; folders and pipelines bring their own.
        encode: turns a text into token ids; needed if ``data`` are texts and there is no tokenizer.
        labels: the class of each text, or for a tagger the classes of its words: numbers from 0 or names, in any list, array
            or column, matched by position; batches and tables have their own. If a text can have several labels, the list of
            labels of each text, or 0 and 1 ``(N, L)``; for a model that returns one number, numbers. Without labels there is
            no accuracy.
        words: the word of each token id, for display.
        label_names: names of the classes, in class order; numbers if left out.
        background: training texts, or their token ids. E14's ``resample`` draws replacements of erased tokens from them;
            without them that operator is left out.
        seed: the seed. With the id of a text, it fixes all random draws for this text.
        batch_size: the largest number of texts in a batch.
        memory_gib: the memory that one step of an experiment may use besides the model and the batch, in GiB.
        max_tokens: the longest text for which numbers from all pairs of tokens are computed; NaN for longer texts.
        progress: whether to show the progress: a bar in a terminal or a notebook, a line each half minute in a log.
        processes: the number of processes that share the batches. They are copies of this process, only on Linux and the CPU,
            and only after ``torch.set_num_threads(1)``. Or ``ranks``: the processes that torchrun or a Trainer has started,
            each of which calls this function with the same texts. The numbers do not depend on this choice.
        until: the precision to which the means of the verdict must be known at 95 %, in their units, such as 0.01. Texts are
            then read in random order, and an experiment stops when its means are that precise, by a betting confidence
            sequence without replacement; an experiment that would need more than three quarters of the texts reads all texts.
            Experiments that draw a sample of texts (E10, E14, E15; inside layers E3) always read this sample. None for all
            texts.
        prompt: the prompt with which a causal language model of transformers reads each text; ``{text}`` is in it once.
        answers: the answer that follows the prompt for each label, in class order: ``{"bad": " bad", "good": " good"}``. The
            model decides between the labels by the logits of the first tokens of these answers.
        window: the largest number of tokens of a window, special tokens included; a longer text is read in several windows. If
            None, a text that is longer than the model can read is cut, with a warning that counts these texts.
        stride: how many tokens a window shares with the next window, as ``stride`` of tokenizers.
        pooled: how the decision is made from several windows; type what your own code does: ``mean`` of their logits, ``max``,
            the largest logit of each class, or ``mean-of-probabilities``.
        text_column, second_column, label_column: columns of a table; if left out, those with usual names such as ``text``,
            ``text_pair`` and ``label``.
        device: the device on which the model computes during the trial, ``cpu`` or ``cuda``; None for its present device.
        name: the name of the trial in the report, such as the model and its data; None for the class of the model.
        explanations: explanations from other software, by name: for each text a list with one number per token or per word; or
            a function that returns these lists for a list of texts, or for a batch of token ids and mask; or a table (a
            DataFrame, or its parquet file) with a column of texts and a column of these lists for each explanation. E15
            compares them with the readings of the model, on 100 texts unless ``experiments`` says otherwise.
        reading: the name of an explanation, or of a reading of the model (a weight for each token), that replaces attention in
            E1, E11, E12 and E14; None for the attention itself.
        readings: the readings of the model that E15 compares with attention and random numbers; None for all that suit the
            model.
        rationales: the marks of one or several people in each text: 0 or 1 for each token or each word; spans of words,
            ``(start, end)`` or with ``start_token`` and ``end_token``; or the text with stars around marked words. Or a table
            of these, as for ``explanations``. For a tagger ``{"word": 3, "marks": …}``: the marks explain the tag of this
            word, counted from 0. E15 then measures how well readings find the marked tokens.
    Raises:
        AttestError: the model, the data, an experiment or an explanation is not valid.
    """
    noted = written(trial, locals())
    label_names = names_of(label_names)
    counted = None if processes == "ranks" else processes
    require_bounds({"seed": seed, "batch_size": batch_size, "processes": counted, "until": until})
    if window is None and (stride, pooled) != (0, "mean"):
        raise AttestError(
            "stride= and pooled= need window=, which was not given; expected window=, the number of tokens in a window."
        )
    columns = {"text_column": text_column, "second_column": second_column, "label_column": label_column}
    read = given(data, labels, {option: column for option, column in columns.items() if column is not None})
    pipeline = pipeline_in(model)
    model, tokenizer = foreign.bare(model, tokenizer, prompted=prompt is not None)
    if isinstance(model, nn.Module):
        require_finite_weights(model)
    with on_device(model, device), as_it_is(model):
        told = not read.batched or read.typed
        if adapted := foreign.is_of_transformers(model):
            from attest.models.pretrained.prompted import Prompt  # imports transformers

            asked = None if prompt is None and answers is None else Prompt(prompt or "", answers or {})
            model, encode, words, label_names = foreign.read_by(model, tokenizer, encode, words, label_names, asked, told)
        elif adapted := foreign.is_plain(model):
            model, encode, words = foreign.plain(model, tokenizer, encode, words, told)
        network = network_of(model)
        encoder = encode if adapted else None
        windowed = None if window is None else in_windows(network, encoder, read.items, window, stride, pooled)
        network = windowed or network
        names = names_of(label_names or getattr(data, "label_names", None))
        tags, chooses = bool(getattr(network, "tags", False)), bool(getattr(network, "chooses", False))
        if chooses:
            read = replace(read, items=made_choices(network, read.items, encode, batch_size))
            names = names or tuple(f"choice {place}" for place in range(1, cast(Any, network).choices.logits.shape[-1] + 1))
        if marks := bool(getattr(network, "answers_by_span", False)):
            spans.require_questions(read.items, encode)
            right, read, names = read.labels, replace(read, labels=None), spans.DECISIONS
        several, number = bool(getattr(network, "labels", 0)) and not chooses, says_number(network)
        batches = _batches(read, network, encode, words, batch_size, names, several)
        if adapted:
            foreign.require_known_ids(network, tokenizer, not read.batched, batches)
            if read.batched:
                require_readable(network, tokenizer, batches)
        batches = with_types(batches, network)
        if adapted:
            batches = foreign.with_words(batches, encode, read.items)
            if (tell := getattr(encode, "tell_of_cuts", None)) is not None:
                tell(sum(len(batch["id"]) for batch in batches))
            if encode is encoder and (quoted := foreign.told_of_special_tokens(tokenizer, read.items)):
                say(quoted)
        if chooses:
            batches = [numbered(batch, network) for batch in batches]
        scores: dict[str, float] = {}
        if marks:
            batches, scores = spans.scores_of(spans.asked_about(network, batches, read.items, encode), right)
        given_numbers: dict[str, str] = {}
        if explanations is not None:
            require_one_decision("explanations", batches, tags or several or chooses or marks)
            batches, given_numbers = with_explanations(batches, explanations, read, encode)
        if rationales is not None:
            require_one_decision("rationales", batches, several or chooses or marks)
            batches = with_marks(batches, rationales, read, encode, tags)
        on = device_of(network)
        drawn_from = None if background is None else _background(background, encode).to(on)
        wanted = _asked_for(experiments, batches, network, reading)
        wanted = _with_readings(wanted, bool(given_numbers) or rationales is not None, readings)
        measures = chosen(wanted, not getattr(network, "pools_by_attention", True), tags, number)
        _require_reading(reading, [*given_numbers], measures, tags)
        limits: dict[str, Any] = {"memory_gib": memory_gib, "max_tokens": max_tokens}
        remarks = [str(cast(Any, network).about)] if getattr(network, "crosses", False) else []
        if marks:
            remarks = [spans.REMARK]
        if windowed is not None:
            require_suited(measures, windowed)
            limits |= {"window": window, "stride": stride, "pooled": pooled}
            remarks = [about_windows(windowed, batches)]
        for remark in remarks:
            say(remark)
        with in_evaluation_mode(network):
            batches, scores = asked_of(network, batches, batch_size) if several else (batches, scores)
        kind = TaggedMeasuring if tags else NumberMeasuring if number else Measuring
        decisions, labels = (DECISIONS, names) if several else (names, ())
        signed = signs_of(batches, [*given_numbers])
        measuring = kind(network, measures, decisions, seed, drawn_from, labels, scores, signed, reading)
        with budget_kept(), in_evaluation_mode(network):

            def check(batch: Batch) -> None:
                rows = batch["text" if several else "id"].tolist()
                if windowed is not None:
                    from attest.models.pretrained.windows import require_own_windows  # imports transformers

                    texts = [read.items[row] for row in rows]
                    require_own_windows(windowed, cast(Any, encode).tokenizer, texts, batch["token_ids"], batch["mask"])
                beside = foreign.everything_of(encode, read.items, rows) if adapted else {}
                ids, tokens, mask = (each.to(on) for each in (batch["id"], batch["token_ids"], attended(batch)))
                require_itself(network, ids, tokens, mask, {name: each.to(on) for name, each in beside.items()})
                if pipeline is not None and encode is encoder and not read.batched:
                    require_own_answers(pipeline, network, encode, [read.items[row] for row in rows], batch, window)

            for batch in _batches_to_check(batches, network):
                measuring.fitting.each(batch, check)
            set_memory_budget(memory_gib, max_tokens)
            if number:
                cast(Any, network).number = scale_of(network, batches)
            measuring.all_of(batches, progress, processes, until, batch_size)
        result = Trial(shown_class(network).__name__)
        limits |= {"remarks": remarks or None, "name": name, "until": until, "explanations": given_numbers or None} | noted
        measuring.write(result.folder, {key: value for key, value in limits.items() if value is not None})
    return result


def _batches(
    read: Given,
    network: nn.Module,
    encode: Encode | None,
    words: Words | None,
    batch_size: int,
    names: Sequence[str],
    several: bool,
) -> list[Batch]:
    items = in_batches(read.items, batch_size) if read.tokenized else read.items
    labels, texts, known = read.labels_for(names, several), len(read.items), None
    if getattr(network, "tags", False):
        return batches_of(tagged_batches(items, labels, encode, batch_size, names), encode, words, batch_size)
    if labels is not None and read.batched and not read.tokenized:
        raise AttestError(
            "labels= was given together with batches; expected labels= only for a list of texts. Put the labels under the key "
            "'label' of each batch."
        )
    if several:
        known = labels_of(labels, texts, names)
    elif says_number(network):
        known = numbers_of(labels, texts)
    elif labels is not None:
        numbers = class_numbers(labels, (texts,), names)
        if doubtful := doubt(numbers, names):
            say(doubtful)
        known = torch.from_numpy(numbers)
    batches = batches_of(items, encode, words, batch_size)
    return batches if known is None else [batch | {"label": known[batch["id"]]} for batch in batches]


@contextmanager
def on_device(model: Any, device: str | torch.device | None) -> Iterator[None]:
    """Move a model to a device inside the ``with`` block, and move it back at the end."""
    wanted = None if device is None else device_named(device)
    if wanted is None or not isinstance(model, nn.Module):
        yield
        return
    before = device_of(model)
    model.to(wanted)
    try:
        yield
    finally:
        model.to(before)


def _background(texts: Sequence[Any], encode: Encode | None) -> Background:
    items = given(texts).items
    if encode is None and any(isinstance(text, str) for text in items):
        raise AttestError(
            "background= contains texts, and encode= was not given; expected token ids in background=, or encode=, a function "
            "that turns a text into token ids."
        )
    encoded = (encode(text) if encode is not None and isinstance(text, str) else text for text in items)
    return Background.of([torch.as_tensor(each, dtype=torch.int64).flatten() for each in encoded])


def network_of(model: Any) -> nn.Module:
    """Return the network whose attention is tested: the model itself, or the ``network`` inside a LightningModule."""
    inner = getattr(model, "network", None)
    network = inner if isinstance(inner, nn.Module) and not all(hasattr(model, step) for step in STEPS) else model
    if not getattr(network, "pools_by_attention", True) and not getattr(network, "attends_within", False):
        raise AttestError(
            f"{type(network).__name__} pools its hidden states by their mean, so it has no attention over the tokens of a "
            "text; expected a network that pools by attention or has attention in its layers."
        )
    require_steps(network)
    return network


def _asked_for(
    experiments: Experiments | None, batches: Sequence[Batch], network: nn.Module, reading: str | None
) -> Experiments:
    """Return the experiments to run: the user's choice, all possible ones, or those that the verdict needs."""
    if experiments is not None and experiments != ALL:
        return experiments
    inside = not getattr(network, "pools_by_attention", True)
    of_sentences = "sentence_mask" in batches[0]
    of_pooled = [name for name, spec in runnable().items() if not (of_sentences and spec.of_tokens)]
    suited_ones = suited(network) if inside else of_pooled
    if reading is not None:
        return [name for name in suited_ones if EXPERIMENTS[name].any_reading]
    if experiments == ALL:
        return suited_ones
    unnamed = [name for name in suited_ones if name not in INSIDE or not INSIDE[name].by_name]
    return NEEDED if NEEDED.keys() <= {*suited_ones} else unnamed


def _with_readings(
    experiments: Experiments, compared: bool, readings: Sequence[str] | None
) -> Mapping[str, Mapping[str, Any]]:
    """Return the settings of the experiments by id. E15 is added if the user gave explanations or rationales."""
    names = [experiments] if isinstance(experiments, str) else [*experiments]
    settings = {name: dict(experiments[name]) if isinstance(experiments, Mapping) else {} for name in names}
    if compared:
        settings["E15"] = {"texts": TEXTS_COMPARED} | settings.get("E15", {})
    if readings is not None:
        if "E15" not in settings:
            raise AttestError(
                "readings= is only for the experiment E15, and E15 is not among the experiments. Add E15 to the experiments, "
                "or leave readings= out."
            )
        settings["E15"]["readings"] = tuple(readings)
    return settings


def _require_reading(reading: str | None, explanations: Sequence[str], measures: Collection[str], tags: bool) -> None:
    if reading is None:
        return
    if reading not in (*READINGS, *explanations) or tags:
        raise AttestError(f"the reading {reading!r} is not known; expected one of: {', '.join([*READINGS, *explanations])}.")
    known = [name for name, spec in EXPERIMENTS.items() if spec.any_reading]
    if other := [name for name in measures if name not in (*known, "E15")]:
        raise AttestError(
            f"{other[0]} tests only the attention weights, and reading={reading!r} was given; expected one or more of: "
            f"{', '.join(known)}. Leave reading= or {other[0]} out."
        )


def _batches_to_check(batches: Sequence[Batch], network: nn.Module) -> list[Batch]:
    """Return the batches that are most likely to reveal an error in the network."""
    ids = [getattr(network, name, None) for name in ("padding", "masked")]
    special = torch.tensor([each for each in ids if each is not None], dtype=torch.int64)
    padded = [batch for batch in batches if not attended(batch).all()]
    longest = max(batches, key=lambda batch: attended(batch).shape[-1])
    with_special = [
        batch for batch in batches if (torch.isin(batch["token_ids"].cpu(), special) & batch["mask"].cpu().bool()).any()
    ]
    found = [batches[0], *padded[:1], longest, *with_special[:1]]
    return list({id(batch): batch for batch in found}.values())
