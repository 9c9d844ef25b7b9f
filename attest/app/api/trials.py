"""The function ``attest.trial``, which tests the attention of any model without training; it returns tables, numbers and
a report.
"""

import shutil
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import nn

from attest.app.api import foreign
from attest.app.api.admitted import Defendant, admitted
from attest.app.api.asked import Experiments, Options, written
from attest.app.api.batched import batches_for
from attest.app.api.batches import Batch, Encode, Words, encoder_in
from attest.app.api.beside import units_of
from attest.app.api.explanations import TEXTS_COMPARED, Explanations, require_one_decision, signs_of, with_explanations
from attest.app.api.given import Given, given
from attest.app.api.grouping import Groups
from attest.app.api.itself import batches_to_check, require_given_model
from attest.app.api.long_texts import require_suited
from attest.app.api.measuring import Measuring, device_of
from attest.app.api.outcome import Outcome
from attest.app.api.rationales import Rationales, with_marks
from attest.app.places import temporary_folder
from attest.core.attention.interventions import uncompiled
from attest.core.devices import device_named
from attest.core.errors import AttestError, said_by
from attest.core.kinds import TAGS, Kind
from attest.core.memory import budget_kept, in_evaluation_mode, set_memory_budget
from attest.core.modes import as_it_is, one_at_a_time
from attest.datamodules.notice import say
from attest.experiments.erasure import Background
from attest.experiments.readings import READINGS
from attest.experiments.registry import EXPERIMENTS, INSIDE, ConfiguredExperiment, chosen, runnable, suited
from attest.experiments.verdict import NEEDED
from attest.models.contract import require_finite_weights, shown_class
from attest.models.traits import traits_of
from attest.report.explained_text import ExplainedText
from attest.report.findings import Findings
from attest.report.page import write_report
from attest.runs.folder import TRIAL, UNFINISHED, RunFolder, write_text

if TYPE_CHECKING:
    from attest.app.api.run import Run

ALL = "all"
"""The value of the argument ``experiments=`` that asks for all experiments that suit the model."""


class Trial(Outcome):
    """The result of ``attest.trial``: numbers, tables and report. Call ``save`` to keep its files.

    Examples:
        >>> import attest, pandas, tempfile
        >>> from attest.app.cli.demo import MODEL, TEXTS
        >>> texts = pandas.read_csv(TEXTS)["text"].head(4).tolist()
        >>> trial = attest.trial(str(MODEL), texts, {"E2": {"permutations": 10}}, progress=False)
        >>> trial.table("E2").columns[:4].tolist()
        ['id', 'predicted', 'length', 'tvd_median']
        >>> print(trial.explain(0))  # the text number 0  # doctest: +ELLIPSIS
        text 0: blame
        ...
        >>> trial.save(tempfile.mkdtemp()).report_path.name
        'report.html'
    """

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
        found = self._findings
        rows = found.decided
        if rows is None:
            return f"{self._model} on 0 texts"
        tested = f"{len(rows)} labels of {rows['text'].nunique()}" if found.kind.asks else f"{len(rows)}"
        return f"{self._model} on {tested} texts"

    def explain(self, identity: int) -> ExplainedText:
        """Return a tested text with its prediction and its explanations, each with one weight for each token.

        Args:
            identity: its id: the place in a list of texts, or the ``id`` that its batch gave it.
        Raises:
            AttestError: no text has this id.
        """
        return self.tested(identity)

    def save(self, path: str | Path) -> "Run":
        """Write tables, numbers, figures and report into a folder that ``attest report`` can read.

        Args:
            path: the path of a folder that is empty or does not exist.
        Raises:
            AttestError: the folder is not empty or cannot be written.
        """
        folder = RunFolder(Path(path))
        from attest.app.api.run import open_run  # a run can be trained on, and so brings Lightning: seconds

        with folder.claimed_anew():
            self.write_into(folder)
        return open_run(folder.path)

    def write_into(self, folder: RunFolder) -> None:
        """Write all files of the trial in place of those in the given folder."""
        write_text(folder.path / UNFINISHED, "")
        folder.empty()
        shutil.copytree(self.folder.path, folder.path, dirs_exist_ok=True)
        write_report(Findings(folder))
        (folder.path / UNFINISHED).unlink()


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
    groups: Groups | None = None,
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
        groups: what you know of each text, by name: ``{"source": [...]}``, one string or number for each text in a list or a
            table. The page says in which groups the explanation is right if they differ most, and ``table("instances")`` has
            a column ``group_source``.
    Raises:
        AttestError: the model, the data, an experiment or an explanation is not valid.

    Examples:
        The small Transformer that comes with Attest, on some of its reviews:

        >>> import attest, pandas
        >>> from attest.app.cli.demo import MODEL, TEXTS
        >>> reviews = pandas.read_csv(TEXTS).head(40)
        >>> trial = attest.trial(str(MODEL), reviews["text"], ["E19"], labels=reviews["label"], progress=False)
        >>> print(trial.verdict)  # doctest: +ELLIPSIS
        Yes. Attention rollout points at the words that decide in ...
    """
    options = Options.of(locals())
    noted = written(trial, vars(options))
    read = given(data, labels, options.columns, groups)
    bare, tokenizer = foreign.bare(model, tokenizer, prompted=prompt is not None)
    if isinstance(bare, nn.Module):
        require_finite_weights(bare)
    with on_device(bare, device), as_it_is(bare):
        defendant, read = admitted(bare, tokenizer, read, options)
        batches, scores = batches_for(defendant, read, options.batch_size)
        batches, numbers = _with_users_numbers(defendant, batches, read, options)
        measures = _measures(defendant, batches, [*numbers], options)
        if remark := defendant.remark(batches):
            say(remark)
        batches, scores = defendant.case.instances(batches, scores, options.batch_size)
        measuring = _measuring(defendant, measures, batches, scores, [*numbers], read.groups, options)
        _measure(measuring, defendant, batches, read, options)
        result = Trial(shown_class(defendant.network).__name__)
        encoder = encoder_in(defendant.encode)
        remarks = [each for each in (remark, None if encoder is None else encoder.told_of_cuts) if each]
        told = {"remarks": remarks or None, "name": options.name, "until": options.until, "explanations": numbers or None}
        limits = _limits(options) | {key: value for key, value in told.items() if value is not None}
        measuring.write(result.folder, limits | noted)
    return result


def _with_users_numbers(
    defendant: Defendant, batches: list[Batch], read: Given, options: Options
) -> tuple[list[Batch], dict[str, str]]:
    """Return the batches with explanations and rationales of the user, and the form of each explanation by its name."""
    case, numbers = defendant.case, dict[str, str]()
    if options.explanations is not None:
        require_one_decision("explanations", batches, not case.takes_explanations)
    if options.rationales is not None:
        require_one_decision("rationales", batches, not case.takes_rationales)
    if options.explanations is None and options.rationales is None:
        return batches, numbers
    units = units_of(batches, read, defendant.encode)
    if options.explanations is not None:
        batches, numbers = with_explanations(batches, options.explanations, units)
    if options.rationales is not None:
        batches = with_marks(batches, options.rationales, units, case.kind == TAGS)
    return batches, numbers


def _measures(
    defendant: Defendant, batches: Sequence[Batch], explanations: Sequence[str], options: Options
) -> dict[str, ConfiguredExperiment]:
    """Return the experiments that were asked for, by id; refuse those that do not suit the model."""
    kind, reading = defendant.case.kind, options.reading
    wanted = _asked_for(options.experiments, batches, defendant.network, reading)
    wanted = _with_readings(wanted, bool(explanations) or options.rationales is not None, options.readings)
    measures = chosen(wanted, defendant.inside, kind)
    _require_reading(reading, explanations, measures, kind)
    if defendant.windowed is not None:
        require_suited(measures, defendant.windowed)
    return measures


def _measuring(
    defendant: Defendant,
    measures: dict[str, ConfiguredExperiment],
    batches: Sequence[Batch],
    scores: dict[str, float],
    explanations: Sequence[str],
    groups: Groups,
    options: Options,
) -> Measuring:
    background = None
    if options.background is not None:
        background = _background(options.background, defendant.encode).to(device_of(defendant.network))
        if defendant.adapted:
            _require_known(background, defendant.network)
    decisions, labels = defendant.case.decisions(defendant.names)
    signed, seed = signs_of(batches, explanations), options.seed
    return defendant.case.measuring(
        defendant.network, measures, decisions, seed, background, labels, scores, signed, options.reading, groups
    )


def _measure(measuring: Measuring, defendant: Defendant, batches: Sequence[Batch], read: Given, options: Options) -> None:
    """Hold the network against the model that was given, and run all experiments."""
    with budget_kept(), in_evaluation_mode(defendant.network):
        for batch in batches_to_check(batches, defendant.network):
            measuring.fitting.each(batch, lambda part: require_given_model(defendant, part, read))
        set_memory_budget(options.memory_gib, options.max_tokens)
        defendant.case.prepare(batches)
        measuring.all_of(batches, options.progress, options.processes, options.until, options.batch_size)


def _limits(options: Options) -> dict[str, Any]:
    """Return the limits under which texts were read, as ``config.yaml`` names them."""
    limits: dict[str, Any] = {"memory_gib": options.memory_gib, "max_tokens": options.max_tokens}
    if options.window is not None:
        limits |= {"window": options.window, "stride": options.stride, "pooled": options.pooled}
    return limits


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
    read = given(texts)
    items = [text["token_ids"] for text in read.items] if read.tokenized else read.items
    if encode is None and any(isinstance(text, str) for text in items):
        raise AttestError(
            "background= contains texts, and encode= was not given; expected token ids in background=, or encode=, a function "
            "that turns a text into token ids."
        )
    several = encoder_in(encode) is not None  # which reads pairs of texts and lists of words, too
    encoded = [
        encode(text) if encode is not None and (isinstance(text, str) or (several and _is_of_strings(text))) else text
        for text in items
    ]
    try:
        return Background.of([torch.as_tensor(each, dtype=torch.int64).flatten() for each in encoded])
    except (TypeError, ValueError) as error:
        raise AttestError(
            f"background= contains what is neither a text nor token ids ({said_by(error)}); expected texts as in the data, or "
            "a list of token ids for each text."
        ) from error


def _require_known(background: Background, network: Any) -> None:
    rows, least, most = len(network.embeddings.weight), int(background.tokens.min()), int(background.tokens.max())
    if least < 0 or most >= rows:
        raise AttestError(
            f"background= contains token ids from {least} to {most}; expected ids from 0 to {rows - 1}, which the "
            "embedding of the model has."
        )


def _is_of_strings(text: Any) -> bool:
    return isinstance(text, tuple | list) and bool(text) and all(isinstance(part, str) for part in text)


def _asked_for(
    experiments: Experiments | None, batches: Sequence[Batch], network: nn.Module, reading: str | None
) -> Experiments:
    """Return the experiments to run: the user's choice, all possible ones, or those that the verdict needs."""
    if experiments is not None and experiments != ALL:
        return experiments
    inside = not traits_of(network).pools_by_attention
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


def _require_reading(reading: str | None, explanations: Sequence[str], measures: Collection[str], kind: Kind) -> None:
    if reading is None:
        return
    if reading not in (*READINGS, *explanations) or kind == TAGS:
        raise AttestError(f"the reading {reading!r} is not known; expected one of: {', '.join([*READINGS, *explanations])}.")
    known = [name for name, spec in EXPERIMENTS.items() if spec.any_reading]
    if other := [name for name in measures if name not in (*known, "E15")]:
        raise AttestError(
            f"{other[0]} tests only the attention weights, and reading={reading!r} was given; expected one or more of: "
            f"{', '.join(known)}. Leave reading= or {other[0]} out."
        )
