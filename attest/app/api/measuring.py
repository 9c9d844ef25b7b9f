"""The experiments of a trial: each batch is observed once, every experiment measures it, and the results become the files of a
run folder. ``Measuring`` serves classifiers; ``TaggedMeasuring`` serves models that give every token a class.

Legend: B batch, T tokens, K tags.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
import torch
import yaml
from rich.console import Console
from torch import Tensor, distributed, nn
from torch.nn.utils.rnn import pad_sequence
from tqdm.std import tqdm  # tqdm.auto asks for ipywidgets in a notebook

from attest.app.api.batches import Batch, attended, batch_of, in_batches, text_of, texts_of
from attest.app.api.explanations import given_in
from attest.app.api.grouping import Groups, with_groups
from attest.app.api.rationales import KEY, OF_TAG
from attest.core.attention.interventions import attending
from attest.core.errors import AttestError, said_by
from attest.core.kinds import SPANS
from attest.core.labels import UNLABELLED as NO_TAG
from attest.core.labels import class_numbers, doubt, of_batch, require_a_name_each
from attest.core.measures import summarise
from attest.core.measures.chunks import chunk_counts, f1_of_counts, has_chunks, of_scheme, token_counts
from attest.core.measures.numbers import percent
from attest.core.measures.summary import by_text
from attest.core.memory import memory_budget, rows_at_once
from attest.core.processes import can_fork, together
from attest.core.version import __version__
from attest.datamodules.notice import say
from attest.evidence import Engine
from attest.experiments.deciding import Neutral
from attest.experiments.deciding.experiment import Pools, neutral_in, texts_for_pools
from attest.experiments.deciding.neutral import ROUGH
from attest.experiments.erasure import Background
from attest.experiments.layers import LayerObservation, head_means, observe_layers, passes_a_text
from attest.experiments.registry import ConfiguredExperiment, Context
from attest.experiments.rows import BETWEEN, between_texts, joined, tag_columns, text_columns
from attest.experiments.sampling import reading_order
from attest.experiments.stopping import EarlyTable, read_until
from attest.experiments.verdict import LOOKS, is_decided, looks_of, share_of
from attest.models.contract import require_finite_logits, shown_class
from attest.models.inputs import Inputs
from attest.models.layers_observed import layers_of, self_attending, weights_a_head
from attest.models.observation import Network, Observation, observe
from attest.models.prediction import kind_of
from attest.models.traits import traits_of
from attest.models.variants import each_pass
from attest.report.findings import ROLLOUT, write_summary
from attest.report.summary import VERSION, summarise_tables
from attest.runs.folder import INSTANCES, TAGGED, TRIAL, RunFolder, Stopped, write_text
from attest.runs.identity import DECIDES
from attest.runs.versions import environment, peak_memory


class Fitting:
    """A record of the smallest batch that did not fit into memory. Batches of that size are halved in advance."""

    def __init__(self) -> None:
        self.too_large: tuple[int, int] | None = None
        """The number of texts, and the number of tokens of the longest one, in the smallest batch that did not fit into memory
        so far; None if all batches fitted. Batches that are at least as large are halved before they are tried."""

    def each(self, batch: Batch, work: Callable[[Batch], None]) -> None:
        """Call ``work`` on a batch, or on each half of the batch if the whole batch does not fit into memory.

        If a CPU has too little memory, PyTorch raises a plain ``RuntimeError``, as for many other errors. So halves are tried
        after every plain ``RuntimeError``.
        """
        waiting = [batch]
        while waiting:
            part = waiting.pop()
            size, tokens = attended(part).shape
            if size > 1 and self.too_large is not None and size * tokens**2 >= self.too_large[0] * self.too_large[1] ** 2:
                texts, middle = texts_of(part), (size + 1) // 2
                waiting += [batch_of(texts[middle:]), batch_of(texts[:middle])]
                continue
            try:
                work(part)
                continue
            except (MemoryError, RuntimeError) as error:
                lacks_memory = isinstance(error, MemoryError | torch.OutOfMemoryError) or type(error) is RuntimeError
                if size == 1 or part["token_ids"].ndim > 2 or not lacks_memory:
                    raise
                reason = said_by(error)
            self.too_large = size, tokens
            if torch.cuda.is_initialized():  # here the error is gone, and with it the tensors that its traceback holds
                torch.cuda.empty_cache()
            say(f"{size} texts of {tokens} tokens at once are too many ({reason[:120]}); half of them are tried at once.")
            waiting.append(part)


HALF_A_MINUTE = 30.0
AT_ONCE = 8
"""The largest batch size for experiment E19 (which words decide?). E19 reads hundreds of variants of each text, so with small
batches the progress bar moves more often."""
BAR = "{desc} {percentage:3.0f}% |{bar}| {elapsed}, {remaining} left"
GROWTH = 1.5
"""The exponent in the estimated cost of a text of T tokens, ``T ** GROWTH``. It lies between 1 and 2, because some experiments
read a text once, and others once for each of its tokens."""


def work_of(batch: Batch) -> float:
    """Estimate the work of measuring a batch: the number of its texts times a power of their largest length."""
    return len(batch["id"]) * batch["mask"].shape[1] ** GROWTH


def seen_by_people() -> bool:
    """Return whether standard error is a terminal or a notebook."""
    console = Console(stderr=True)
    return console.is_terminal or console.is_jupyter


def progress_bar(about: str, total: float, progress: bool) -> tqdm:
    """Return a bar in a terminal or a notebook, a line each half minute in a log, or nothing without ``progress``."""
    every = {} if seen_by_people() else {"mininterval": HALF_A_MINUTE, "delay": HALF_A_MINUTE}
    return tqdm(desc=about, total=total, disable=not progress, leave=False, bar_format=BAR, **every)


class Ticking:
    """Draws a bar again each second while the model reads, so that its time moves; in a log it does nothing."""

    def __init__(self, bar: tqdm) -> None:
        self.bar, self.drawn, self.shown = bar, time.monotonic(), not bar.disable and seen_by_people()

    def __call__(self, _passes: int) -> None:
        if self.shown and time.monotonic() - self.drawn >= 1:
            self.drawn = time.monotonic()
            self.bar.refresh()


def passes_of_neutral(batch: Batch) -> int:
    """Estimate how often the search for neutral words reads texts of a batch: each without and with each token alone."""
    return ROUGH * int(2 * attended(batch).sum() + len(batch["id"]))


def so_far(rows: Sequence[pd.DataFrame], begin: int, end: int, most: int) -> str:
    """Say which texts E19 reads, of how many at most, and in how many of those that were read the explanation is right."""
    reading = f"Texts {begin + 1} to {end}, of at most {most}"
    read = by_text(joined(rows)) if rows else pd.DataFrame()
    share = share_of(read["right"]) if "right" in read else None
    return reading if share is None else f"{reading}; right so far in {percent(share.value)} of {share.texts}"


WEIGHTS_HELD = 14 * 4
"""To estimate memory: the bytes that a trial holds at its peak for each attention weight inside the layers, as many as
fourteen float32 numbers."""


@dataclass(eq=False)
class Measuring:
    """A runner of all experiments of a trial. The network reads each batch only once for all experiments.

    Args:
        network: the network, in evaluation mode.
        measures: the experiments, by id.
        label_names: the names of the classes, in class order; empty if the classes have numbers only.
        seed: the seed of the random draws.
        background: training texts, from which replacements of erased tokens are drawn; None if there are none.
        labels: the names of the labels, if each instance is a text and a label.
        scores: the scores of the model; empty if they are computed from the tested decisions.
        given: the name of each explanation of the user, and whether some of its numbers are below 0.
        reading: the reading (a weight for each token) that replaces attention; None for the attention itself.
        groups: what the user knows of each text, by name.
    """

    network: nn.Module
    measures: dict[str, ConfiguredExperiment]
    label_names: tuple[str, ...]
    seed: int
    background: Background | None = None
    labels: Sequence[str] = ()
    scores: dict[str, float] = field(default_factory=dict)
    given: Mapping[str, bool] = field(default_factory=dict)
    reading: str | None = None
    groups: Groups = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.kind = kind_of(self.network)
        """What the network decides, such as one class for each text or one tag for each token."""
        self.first = self.kind.table
        """The name of the table with one row for each text and the network's decision about it, such as ``instances``."""
        self.engine = Engine(self.reading, self.background)
        """The object that runs the experiments on each batch, and collects the rows of their tables."""
        self.of_sentences = False
        """Whether the network reads each text as a list of sentences, ``token_ids (B, S, T)``, and not as one list of
        tokens."""
        self.fitting = Fitting()
        self._rank, self._processes = 0, 1
        """The rank of this process, from 0, and the number of processes that share the texts."""
        self._asked = {self.first, *self.measures}
        """The names of the tables that the current pass over the texts fills: ``first``, the table of decisions, and ids of
        experiments, such as E2."""
        self._until_decided: pd.DataFrame | None = None
        """The finished table of experiment E19 (which words decide?). E19 runs before the others: it reads texts part by part,
        until the verdict is certain. None if E19 has not run."""
        self._early: dict[str, EarlyTable] = {}
        """The tables of the experiments that stopped before all texts were read, because their means were precise enough; the
        keys are the ids of the experiments."""

    def all_of(
        self,
        batches: Sequence[Batch],
        progress: bool,
        processes: int | Literal["ranks"] = 1,
        until: float | None = None,
        batch_size: int = 32,
    ) -> None:
        """Run all experiments on all batches."""
        everyone = torch.cat([batch["id"].cpu() for batch in batches])
        self.of_sentences = any(batch["token_ids"].ndim > 2 for batch in batches)
        if self._asks_for("head_means"):
            self.engine.head_means = self._read_heads(batches)

        def work(rank: int) -> None:
            self._rank = rank
            self._asked = {self.first, *self.measures}
            if self._asks_for("neutral"):
                self.engine.neutral = self._read_neutral(batches, everyone, progress and rank == 0)
            if "E19" in self.measures:
                self._read_until_decided(batches, everyone, progress and rank == 0, batch_size)
            if until is not None:
                self._read_early(until, batches, everyone, progress and rank == 0, batch_size)
            self._some_of(batches, everyone, progress and rank == 0)
            self._share()

        if processes == "ranks":
            self._processes = distributed.get_world_size() if distributed.is_initialized() else 1
            work(distributed.get_rank() if self._processes > 1 else 0)
        else:
            self._processes = processes if can_fork() else 1
            together(processes, work) if self._processes > 1 else work(0)
        for name, table in self._early.items():
            self.engine.rows[name] = [table.rows]
        if self._until_decided is not None:
            self.engine.rows["E19"] = [self._until_decided]

    def _asks_for(self, name: str) -> bool:
        return any(name in experiment.reads for experiment in self.measures.values())

    def _read_neutral(self, batches: Sequence[Batch], everyone: Tensor, progress: bool) -> Pools:
        """Search for neutral words in two samples of the texts, as many of them as fit into memory at once.

        Where several processes share the texts, two of them search for a pool each. The bar counts passes of the model.
        """
        found: dict[int, Neutral] = {}
        for number, ids in enumerate(texts_for_pools(everyone, self.seed)):
            if number % self._processes == self._rank:
                wanted = {*ids.tolist()}
                texts = [text for batch in batches for text in texts_of(batch) if int(text["id"]) in wanted]
                batch = self._within_budget([batch_of(texts)], 1)[0]
                about = f"Words that hardly move the model, sample {number + 1} of 2"
                bar = progress_bar(about, passes_of_neutral(batch), progress)
                with self.engine.timed("E19"), bar, each_pass(bar.update):
                    known = neutral_in(self._seen(batch), self.seed)
                found[number] = known._replace(pool=known.pool.cpu())
        if self._processes > 1:
            shares: list[Any] = [None] * self._processes
            distributed.all_gather_object(shares, found)
            found = {number: known for share in shares for number, known in share.items()}
        first, second = (found[number]._replace(pool=found[number].pool.to(device_of(self.network))) for number in (0, 1))
        return first, second

    def _seen(self, batch: Batch) -> Observation | LayerObservation:
        """Observe a batch in which neutral words are searched for, with the tested explanation."""
        return self._explained(self._observe(batch))[0]

    def _explained(self, observation: Observation) -> tuple[Observation, LayerObservation | None]:
        """Return the observation with the tested explanation, and its layers if that comes from attention inside layers."""
        layers = self._layers(observation)
        return self.engine.explained(observation, layers), layers

    def _read_heads(self, batches: Sequence[Batch]) -> Mapping[str, Tensor]:
        """Return each attention head's mean output over all texts; print how many forward passes E17 needs."""
        means = head_means(self.network, (inputs_of(batch, self.network) for batch in self._within_budget(batches, 1)))
        heads, layers = sum(len(each) for each in means.values()), len(means)
        say(
            f"E17 switches off each of {heads} heads in {layers} layers, and sets of heads: about "
            f"{passes_a_text(heads, layers)} passes a text, and one for each of its tokens."
        )
        return means

    def _share(self) -> None:
        if self._processes > 1:
            self.engine.share()

    def _read_until_decided(self, batches: Sequence[Batch], everyone: Tensor, progress: bool, batch_size: int) -> None:
        """Read texts for E19, in random order, until they decide the verdict or its sample ends."""
        size = min(self.measures["E19"].settings.get("texts", LOOKS[-1]), len(everyone))
        order, asked = reading_order(everyone, self.seed).tolist()[:size], self._asked
        rows: list[pd.DataFrame] = []
        for begin, end in pairwise((0, *looks_of(size))):
            self._asked, wanted = {"E19"}, {*order[begin:end]}
            texts = (text for batch in batches for text in texts_of(batch) if int(text["id"]) in wanted)
            each = min(batch_size, AT_ONCE, -(-(end - begin) // self._processes))  # so that each process has some
            self._some_of(in_batches(texts, each), everyone, progress, so_far(rows, begin, end, size))
            self._share()
            rows += self.engine.take("E19")
            if is_decided(joined(rows)):
                break
        self._asked, self._until_decided = asked - {"E19"}, joined(rows)

    def _read_early(
        self, precision: float, batches: Sequence[Batch], everyone: Tensor, progress: bool, batch_size: int
    ) -> None:
        """Run only the experiments that may stop before all texts are read."""
        if self.of_sentences:
            raise AttestError(
                "`until` works only for texts of tokens, and these texts are lists of sentences. Leave `until` out."
            )

        def measure(texts: list[int], going: Collection[str]) -> dict[str, pd.DataFrame]:
            self._asked, wanted = {*going}, {*texts}
            part = (text for batch in batches for text in texts_of(batch) if int(text["id"]) in wanted)
            self._some_of(in_batches(part, batch_size), everyone, progress)
            self._share()
            return {name: joined(self.engine.take(name)) for name in going}

        stoppable = [name for name, experiment in self.measures.items() if not experiment.samples]
        asked = self._asked
        self._early = read_until(precision, stoppable, everyone, self.seed, measure)
        self._asked = asked - self._early.keys()

    def _within_budget(self, batches: Sequence[Batch], processes: int) -> list[Batch]:
        heads = sum(layer.heads or 0 for layer in attending(self.network).values())
        parts = []
        for batch in batches:
            size = WEIGHTS_HELD * heads * weights_a_head(self.network, attended(batch))
            rows = rows_at_once(size, memory_budget() // processes) if heads else len(batch["id"])
            texts = texts_of(batch) if len(batch["id"]) > rows else []
            parts += [batch_of(texts[start : start + rows]) for start in range(0, len(texts), rows)] or [batch]
        return parts

    def _some_of(self, batches: Sequence[Batch], everyone: Tensor, progress: bool, about: str = "") -> None:
        """Measure this process's share of the batches in order of decreasing work, and show the progress.

        Args:
            about: what the bar says; empty for the name of the last experiment.
        """
        ordered = sorted(self._within_budget(batches, self._processes), key=work_of, reverse=True)
        mine = ordered[self._rank :: self._processes]
        with progress_bar(about, sum(map(work_of, mine)), progress) as bar, each_pass(Ticking(bar)):

            def measure(batch: Batch) -> None:
                with self.engine.whole_or_nothing():
                    for name in self._measure(batch, everyone):
                        bar.set_description_str(about or name)

            for each in mine:
                self.fitting.each(each, measure)
                bar.update(work_of(each))

    def _measure(self, batch: Batch, everyone: Tensor) -> Iterator[str]:
        """Run all requested experiments on one batch; yield each table's name as soon as its rows are computed."""
        observation = self._observe(batch)
        label = self._label(batch, observation)
        observation, layers = self._explained(observation)
        context = self._context(self._decided(label, layers is not None, observation), observation, everyone)
        truth = batch.get("rationale")
        if isinstance(truth, Tensor) and truth.shape == observation.mask.shape:
            context = replace(context, truth=truth.to(observation.mask))
        known = {} if label is None else {"label": label}
        asked = {name: batch[name].to(observation.ids) for name in ("text", "asked") if self.kind.asks}
        identity = {"id": observation.ids} | asked | known | self._said(observation) | {"length": observation.lengths}
        if INSTANCES in self._asked:
            with self.engine.timed(INSTANCES):
                whole = None if traits_of(self.network).crosses else layers  # a row for each token of the text
                pairs = {} if whole is None or "text_of_pair" not in batch else between_texts(whole, batch["text_of_pair"])
                columns = identity | pairs | text_columns(observation, self.label_names)
                told = {"answer": batch["answer"]} if self.kind == SPANS else {}
                self._keep(INSTANCES, columns, observation.mask, tokens=batch["tokens"], **told)
            yield INSTANCES
        yield from self._experiments(observation, layers, context, identity)

    def _said(self, observation: Observation) -> dict[str, Tensor]:
        return {"predicted": observation.predicted}

    def _decided(self, label: Tensor | None, inside: bool, observation: Observation) -> Tensor | None:
        return observation.predicted if label is None and inside else label

    def _experiments(
        self, pooled: Observation | None, layers: LayerObservation | None, context: Context, identity: dict[str, Tensor]
    ) -> Iterator[str]:
        for name, experiment in self.measures.items():
            if name in self._asked:
                observation = layers if experiment.inside else pooled
                assert observation is not None
                with self.engine.timed(name):
                    columns = self.engine.columns(experiment, observation, context)
                    self._keep(name, identity | columns, observation.mask)
                yield name

    def _keep(self, table: str, columns: Mapping[str, Tensor], mask: Tensor, **others: Any) -> None:
        asked = {"asked": [self.labels[label] for label in columns["asked"]]} if self.kind.asks else {}
        self.engine.keep(table, columns, mask, **asked, **others)

    def _context(self, labels: Tensor | None, observed: Observation | LayerObservation, everyone: Tensor) -> Context:
        return self.engine.context(labels, everyone.to(observed.ids.device), self.seed)

    def _observe(self, batch: Batch) -> Observation:
        device, texts = device_of(self.network), inputs_of(batch, self.network)
        network, ids = cast(Network, self.network), batch["id"].to(device)
        words, special = (batch[name].to(device) if name in batch else None for name in ("word", "special"))
        observation = observe(network, ids, texts.tokens, texts.mask, words=words, special=special, beside=texts.beside)
        require_finite_logits(observation.logits, ids, texts.mask)
        self._require_names(observation.probabilities.shape[-1])
        marks = batch[KEY].to(device) if KEY in batch else None
        return replace(observation, given=given_in(batch, self.given, device), marks=marks)

    def _require_names(self, classes: int) -> None:
        self.label_names = self.label_names or tuple(map(str, range(classes)))
        require_a_name_each(self.label_names, classes)

    def _layers(self, observation: Observation) -> LayerObservation | None:
        """Return the observed attention of the network's layers; None if the network pools by attention."""
        if traits_of(self.network).pools_by_attention:
            return None
        with torch.no_grad():
            return layers_of(observation)

    def _label(self, batch: Batch, observation: Observation) -> Tensor | None:
        if batch.get("label") is None:
            return None
        return of_batch(batch["label"], observation.ids.shape, self.label_names).to(observation.ids)

    def write(self, folder: RunFolder, limits: dict[str, Any]) -> None:
        """Write all files of a run folder except the report."""
        stopped = {name: Stopped(table.rule.precision, table.rule.found()) for name, table in self._early.items()}
        for name, parts in self.engine.rows.items():
            rows = joined(parts).sort_values("id", ignore_index=True)
            if name == self.first:
                rows = with_groups(rows, self.groups, "text" if self.kind.asks else "id")
            folder.write_evidence(name, rows, stopped.get(name))
        texts = pd.read_parquet(folder.evidence(self.first))
        write_text(folder.config, yaml.safe_dump(self._settings(len(texts), limits), sort_keys=False))
        measured = summarise_tables(folder, self.engine.rows.keys() - {INSTANCES})
        summary = {"version": VERSION} | (self.scores or self._scores(texts)) | measured
        between = texts[[name for name in BETWEEN if name in texts]]
        summary |= {f"pairs/{name}": value for name, value in summarise(between).items()}
        write_summary(folder, summary)
        seconds = {f"evidence/{name}": value for name, value in self.engine.seconds.items()}
        texts, tokens = self.fitting.too_large or (None, None)
        known: dict[str, Any] = {} if texts is None else {"did_not_fit": {"texts": texts, "tokens": tokens}}
        known |= {"seconds_a_text": each} if (each := self.engine.clock.a_text()) else {}
        folder.note(seconds=seconds, environment=environment(), peak_memory=peak_memory(), **known)

    def _scores(self, texts: pd.DataFrame) -> dict[str, float]:
        if "label" not in texts:
            return {}
        from attest.core.measures.decisions import decision_scores

        probabilities = torch.tensor(texts.filter(regex="^probability_").to_numpy(), dtype=torch.float32)
        scores = decision_scores(probabilities, torch.tensor(texts["label"].to_numpy()))
        return {f"test/{name}": float(score) for name, score in scores.items()}

    def _settings(self, texts: int, limits: dict[str, Any]) -> dict[str, Any]:
        model = shown_class(self.network)
        names = {"data": "own", "recipe": "own", "model": model.__name__, "scoring": "own", "projection": "own"}
        experiments = {name: _plain(measure.settings) for name, measure in self.measures.items()}
        several: dict[str, Any] = {DECIDES: self.kind.name} | ({"labels": list(self.labels)} if self.labels else {})
        several |= {"of_sentences": True} if self.of_sentences else {}
        if not traits_of(self.network).pools_by_attention:
            several["explanation"] = "cross-attention" if traits_of(self.network).crosses else ROLLOUT
        if self.reading is not None:
            several["explanation"] = self.reading
        about = several | {"model": f"{model.__module__}.{model.__qualname__}", "texts": texts, "experiments": experiments}
        return {"run": names, "seed_everything": self.seed, TRIAL: about | limits | {"attest": __version__}}


def device_of(network: nn.Module) -> torch.device:
    """Return the device of the parameters of a network; the CPU if it has none."""
    return next((parameter.device for parameter in network.parameters()), torch.device("cpu"))


def inputs_of(batch: Batch, network: nn.Module) -> Inputs:
    """Return what a network reads of a batch, on its device: token ids and mask, and the columns that its wrapper names."""
    beside = {name: batch[name] for name in traits_of(network).reads_beside if name in batch}
    return Inputs(batch["token_ids"], attended(batch), beside).to(device_of(network))


def _plain(value: Any) -> Any:
    """Return settings as YAML holds them: lists stay lists; what YAML has no form for is told in words."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if isinstance(value, int | float | str | None) else str(value)


def tagged_batches(
    sentences: Sequence[Any], tags: Sequence[Any] | None, reads: Any, batch_size: int, label_names: Sequence[str]
) -> list[Batch]:
    """Return batches of subwords, sorted by sentence length. The first subword of each word has the word's tag."""
    given = list(sentences)
    if given and all(isinstance(each, Mapping) for each in given):
        return given
    if reads is None or any(isinstance(each, str) for each in given):
        raise AttestError(
            "the model gives every token a class; expected sentences as lists of words, a tag for each word, and the model's "
            "tokenizer: attest.trial(model, [['A', 'film']], labels=[[3, 4]], tokenizer=tokenizer)"
        )
    lengths = [len(words) for words in given]
    tags = [each for each in (() if tags is None else tags) if isinstance(each, Sized) and not isinstance(each, str)]
    if lengths != [len(each) for each in tags]:
        raise AttestError("the tags do not match the words; expected labels= with one class for each word of each sentence.")
    flat = class_numbers([tag for each in tags for tag in each], (sum(lengths),), label_names, partly=True)
    if doubtful := doubt(flat, label_names):
        say(doubtful)
    numbers = [each.tolist() for each in np.split(flat, np.cumsum(lengths)[:-1])]
    from attest.models.pretrained.subwords import cut, tags_of_subwords, told_of_unread

    found = cut(reads.tokenizer, given, reads.longest)
    reads.cut += found.shortened
    if told := told_of_unread(given, found, reads.longest):
        say(told)
    first = tags_of_subwords(numbers, found.words, label_names)
    texts = [
        text_of(
            row,
            token_ids=torch.tensor(ids),
            tags=torch.tensor(tags_of_ids),
            special=torch.tensor([word is None for word in words]),
            word_of_token=torch.tensor([-1 if word is None else word for word in words]),
        )
        for row, (ids, tags_of_ids, words) in enumerate(zip(found.ids, first, found.words, strict=True))
    ]
    return in_batches(texts, batch_size)


class TaggedMeasuring(Measuring):
    """A runner of all experiments on the attention layers of a tagger, which predicts a tag for each word."""

    def _seen(self, batch: Batch) -> LayerObservation:
        if "tags" not in batch:
            raise AttestError(
                f"a batch has no tags (B, T); expected a class for each token, and {NO_TAG} for a token without a class."
            )
        device, texts = device_of(self.network), inputs_of(batch, self.network)
        ids, mask = batch["id"].to(device), texts.mask
        with torch.no_grad():
            seen = observe_layers(self.network, ids, texts.tokens, mask, beside=texts.beside)
        require_finite_logits(seen.logits, ids, mask)
        self._require_names(seen.probabilities.shape[-1])
        labels = of_batch(batch["tags"], mask.shape, self.label_names, partly=True).to(device)
        special, words = (batch[name].to(device) if name in batch else None for name in ("special", "word_of_token"))
        return replace(seen, labels=labels, special=special, words=words)

    def _measure(self, batch: Batch, everyone: Tensor) -> Iterator[str]:
        layers, device = self._seen(batch), device_of(self.network)
        ids, mask, labels = layers.ids, layers.mask, layers.labels
        told = {name: batch[key].to(device) for name, key in OF_TAG.items() if key in batch}
        context = replace(self._context(labels, layers, everyone), **told)
        identity = {"id": ids, "length": mask.sum(dim=-1)}
        heads = [attending(self.network)[layer].heads for layer in self_attending(self.network)]
        if TAGGED in self._asked:
            with self.engine.timed(TAGGED):
                columns = identity | tag_columns(layers, self.label_names)
                self.engine.keep(TAGGED, columns, mask, tokens=batch["tokens"], heads=[heads] * len(ids))
            yield TAGGED
        yield from self._experiments(None, layers, context, identity)

    def _scores(self, texts: pd.DataFrame) -> dict[str, float]:
        gold, predicted = (
            pad_sequence([torch.tensor(row) for row in texts[name]], batch_first=True, padding_value=NO_TAG)
            for name in ("tags", "predicted_tags")
        )
        scores = {"accuracy": (gold == predicted)[gold >= 0].double().mean()}
        if has_chunks(self.label_names):
            scores["token_f1"] = f1_of_counts(token_counts(predicted, gold, self.label_names))
            scores["chunk_f1"] = f1_of_counts(of_scheme(chunk_counts(predicted, gold, self.label_names)))
        return {f"test/{name}": float(score) for name, score in scores.items()}
