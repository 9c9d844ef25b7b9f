"""What is made at two commits to see which numbers moved: a small run or trial for each kind of model and place of attention.

    PYTHONPATH=. python -P benchmarks/moved_cases.py <folder>    # in the tree whose code is run

``benchmarks/moved.py`` starts it twice, with the code of either commit. So these recipes use public functions and commands
alone, make their own models and texts, and import Attest only where they are followed. Each is followed in a folder and in a
fork of its own: one that fails harms no other.
"""

import json
import os
import random
import resource
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

LIBRARIES = (
    "attest",
    "attest.app.cli.main",
    "attest.app.cli.fit",
    "pytorch_lightning.cli",
    "transformers",
    "matplotlib.pyplot",
)
"""Loaded before forking."""
SAID, FAILED, SECONDS = "said.txt", "failed.txt", "seconds.json"
"""In the folder of a case what was printed and why it could not be made; beside these folders the CPU seconds of each."""

PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = ("a", "the", "fine", "dull", "film", "plot", "very", "not", "##y", ".", ",", "cast", "and", "is", "songs", "long")
SIZES = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24, "pad_token_id": 0,
    "bos_token_id": 2, "eos_token_id": 3, "max_position_embeddings": 64,
}  # fmt: skip
LLAMA = {"num_key_value_heads": 2, "head_dim": 4}
GPT2 = {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 64}
BART = {
    "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 24, "decoder_ffn_dim": 24,
}  # fmt: skip
DEBERTA = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 16, "norm_rel_ebd": "layer_norm"}
PROMPT, ANSWERS = "the plot : {text} is", {"bad": " dull", "good": " fine"}

LAYERS = {
    "E1": {}, "E2": {"permutations": 3}, "E3": {"steps": 20, "texts": 4, "each_layer": True}, "E8": {}, "E9": {"draws": 2},
    "E13": {}, "E14": {"texts": 4, "sets": 5}, "E15": {"texts": 4, "sets": 5},
}  # fmt: skip
"""The experiments inside layers, with few draws, steps and texts."""
QUIET = (
    *("LOGGER=csv", "--run.root=runs", "--run.processes=1", "--run.evidence_while_training=false"),
    *("--trainer.enable_progress_bar=false", "--trainer.max_epochs=1"),
)
PLANTED = (
    *("DATA=planted", "--data.init_args.rule=token", "--data.init_args.train_texts=320"),
    *("--data.init_args.validation_texts=64", "--data.init_args.test_texts=24"),
)


def settings(of: str, **values: Any) -> tuple[str, ...]:
    """Return options of a run: settings of one of its parts."""
    within = of if of.startswith("experiments.") else f"{of}.init_args"
    return tuple(f"--{within}.{name}={value}" for name, value in values.items())


POOLED = (
    *settings("experiments.E2", permutations=10),
    *settings("experiments.E3", restarts=2, steps=20),
    *settings("experiments.E10", texts=8, positions=4),
    *settings("experiments.E14", texts=4, sets=5),
    *settings("experiments.E15", texts=4, sets=5),
)
WITHIN = (
    *settings("experiments.E2", permutations=3),
    *settings("experiments.E3", restarts=1, steps=20, texts=4),
    *settings("experiments.E9", draws=2),
)
NETWORK, ENCODER = "model.init_args.network", "model.init_args.network.init_args.encoder"
ONE_EPOCH = ("--", "--trainer.max_epochs=1")


@dataclass(frozen=True)
class Case:
    """A recipe.

    Attributes:
        kind: what the model decides.
        place: where its attention is.
        make: writes whatever it makes into the current folder.
    """

    kind: str
    place: str
    make: Callable[[], None]

    @property
    def name(self) -> str:
        """Return how the case is called wherever it is printed."""
        return f"{self.kind}, {self.place}"


# Runs of Attest's own networks.


def command(*typed: str) -> None:
    """Run a command of Attest, which must end well."""
    from attest.app.cli.main import main

    if code := main([*typed]):
        raise RuntimeError(
            f"attest {' '.join(typed[:4])} … ended with {code}; {Path('said.txt').read_text().splitlines()[-1]}"
        )


def run(*typed: str, then: Iterable[Sequence[str]] = ()) -> Callable[[], None]:
    """Return a recipe: train a network and test it.

    Args:
        typed: the words of the run.
        then: commands that follow with the same words, each with words of its own.
    """

    def make() -> None:
        command("fit", *QUIET, *typed)
        for name, *own in then:
            command(name, *QUIET, *typed, *own)

    return make


def tagged_run() -> None:
    """Train a tagger on files."""
    tags = {"the": "B-NP", "a": "B-NP", "film": "I-NP", "cast": "I-NP", "is": "B-VP", "bores": "B-VP", ".": "O"}
    draw = random.Random(0)
    for split, count in (("train", 96), ("validation", 24), ("test", 12)):
        drawn = [draw.choices(list(tags), k=draw.randint(2, 7)) for _ in range(count)]
        lines = [json.dumps({"words": words, "tags": [tags[word] for word in words]}) for words in drawn]
        Path(f"{split}.jsonl").write_text("\n".join(lines))
    files = settings("data", train="train.jsonl", validation="validation.jsonl", test="test.jsonl")
    small = settings(NETWORK, embedding_size=8, size=8, feedforward_size=8)
    few = settings("experiments.E14", texts=4, sets=5)
    run("DATA=files", "MODEL=tagger", *files, *small, *WITHIN, *few)()


def fine_tuned_run() -> None:
    """Fine-tune a tiny BERT."""
    from transformers import AutoModel

    words = ("the", "film", "was", "is", "of", "and", "with", ".")
    letters = [*"abcdefghijklmnopqrstuvwxyz", *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")]
    tokenizer = word_pieces([*letters, *words, "[unused1]", "[unused2]"])
    tokenizer.save_pretrained("bert")
    of("bert", AutoModel, tokenizer).save_pretrained("bert")
    few = (*WITHIN, *settings("experiments.E14", texts=4, sets=5), *settings("experiments.E15", texts=4, sets=5))
    run(
        *PLANTED,
        "MODEL=pretrained",
        "--model.init_args.pretrained=bert",
        "--data.init_args.train_texts=64",
        "--data.init_args.test_texts=8",
        *few,
    )()


# Trials of random Transformers.


def word_pieces(words: Iterable[str] = WORDS) -> Any:
    """Return a tokenizer as BERT has it."""
    from transformers import BertTokenizerFast

    Path("vocabulary.txt").write_text("\n".join([*PIECES, *words]))
    return BertTokenizerFast("vocabulary.txt", model_max_length=64)


def word_level() -> Any:
    """Return a tokenizer as decoders have it: a blank belongs to the word behind it."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import PreTrainedTokenizerFast

    known = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    words = [*known.values(), *(f"{blank}{word}" for blank in ("", "Ġ") for word in (*WORDS, ":"))]
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **known)


def texts(count: int, longest: int = 9, seed: int = 0) -> list[str]:
    """Return random texts."""
    draw = random.Random(seed)
    words = [word for word in WORDS if not word.startswith("##")] + ["filmy"]
    return [" ".join(draw.choices(words, k=draw.randint(3, longest))) for _ in range(count)]


def of(architecture: str, head: Any, tokenizer: Any, **values: Any) -> Any:
    """Return a random model of transformers in evaluation mode.

    Args:
        architecture: as transformers calls it.
        head: the class that makes it, such as ``AutoModel``.
        tokenizer: its tokenizer, whose words are those of the model.
        values: of its configuration.
    """
    import torch
    from transformers import AutoConfig

    torch.manual_seed(0)
    model = head.from_config(AutoConfig.for_model(architecture, **SIZES, **{"vocab_size": len(tokenizer)} | values)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model


def named(*names: str) -> dict[str, Any]:
    """Return the settings of a model that name its classes."""
    return {
        "num_labels": len(names),
        "id2label": dict(enumerate(names)),
        "label2id": {name: at for at, name in enumerate(names)},
    }


def suited(*without: str) -> dict[str, Any]:
    """Return the experiments inside layers but for those that do not suit a model."""
    return {name: options for name, options in LAYERS.items() if name not in without}


def tried(model: Any, data: Any, experiments: Mapping[str, Any], **options: Any) -> Any:
    """Put a model on trial, and write the trial into the folder."""
    import attest

    trial = attest.trial(model, data, experiments, progress=False, **options)
    trial.save("trial")
    return trial


def classes(architecture: str, *without: str, **values: Any) -> Callable[[], None]:
    """Return a recipe: a classifier of texts by a Transformer of other people, whose configuration has these values.

    Args:
        without: experiments that do not suit it.
    """

    def make() -> None:
        from transformers import AutoModelForSequenceClassification

        tokenizer = word_pieces()
        model = of(architecture, AutoModelForSequenceClassification, tokenizer, **values, **named("bad", "good"))
        tried(model, texts(10), suited(*without), tokenizer=tokenizer, labels=[row % 2 for row in range(10)], seed=1)

    return make


def explained_classes() -> None:
    """A classifier whose labels are its own decisions, so that there is a verdict; numbers and marks of the user's; heads."""
    import torch
    from transformers import AutoModelForSequenceClassification

    tokenizer = word_pieces()
    model = of("bert", AutoModelForSequenceClassification, tokenizer, **named("bad", "good"))
    read = texts(40, seed=2)
    with torch.no_grad():
        said = torch.cat([model(**tokenizer(text, return_tensors="pt")).logits for text in read])
        model.classifier.bias -= said.mean(dim=0)
    places = [range(len(text.split())) for text in read]
    trial = tried(
        model,
        read,
        LAYERS | {"E14": {"texts": 24, "sets": 5}, "E17": {}},
        tokenizer=tokenizer,
        labels=(said - said.mean(dim=0)).argmax(dim=-1).tolist(),
        background=texts(8, seed=1),
        explanations={"of-mine": [[(3 * place) % 5 / 5 for place in each] for each in places]},
        rationales=[[int(place % 3 == 1) for place in each] for each in places],
    )
    Path("explained.html").write_text(trial.explain(0)._repr_html_())


def several_labels() -> None:
    """A model that decides each label by itself."""
    from transformers import AutoModelForSequenceClassification

    tokenizer, names = word_pieces(), ("joy", "anger", "fear")
    settings = named(*names) | {"problem_type": "multi_label_classification"}
    model = of("bert", AutoModelForSequenceClassification, tokenizer, **settings)
    labels = [[name for at, name in enumerate(names) if row >> at & 1] for row in range(8)]
    tried(model, texts(8), LAYERS, tokenizer=tokenizer, labels=labels)


def one_number() -> None:
    """A model that returns a number for two texts."""
    from transformers import AutoModelForSequenceClassification

    tokenizer = word_pieces()
    model = of("bert", AutoModelForSequenceClassification, tokenizer, num_labels=1)
    pairs = [*zip(texts(10), texts(10, 5, seed=1), strict=True)]
    tried(model, pairs, LAYERS, tokenizer=tokenizer, labels=[row / 4 for row in range(10)])


def tags() -> None:
    """A tagger of words."""
    from transformers import AutoModelForTokenClassification

    tokenizer = word_pieces()
    model = of("bert", AutoModelForTokenClassification, tokenizer, **named("O", "B-NP", "I-NP"))
    sentences = [text.split() for text in texts(10)]
    gold = [[place % 3 for place in range(len(words))] for words in sentences]
    tried(model, sentences, suited("E1"), tokenizer=tokenizer, labels=gold)


def choices() -> None:
    """A model that chooses between texts."""
    from transformers import AutoModelForMultipleChoice

    tokenizer = word_pieces()
    model = of("bert", AutoModelForMultipleChoice, tokenizer)
    read = texts(10)
    asked = [(text, [read[row - 1], read[row - 2], read[row - 3]]) for row, text in enumerate(read)]
    tried(model, asked, suited("E3", "E13"), tokenizer=tokenizer, labels=[row % 3 for row in range(10)])


def spans() -> None:
    """A model that answers a question by a span of a passage."""
    from transformers import AutoModelForQuestionAnswering

    tokenizer = word_pieces()
    model = of("bert", AutoModelForQuestionAnswering, tokenizer)
    asked = [*zip(texts(10, 5, seed=1), texts(10), strict=True)]
    tried(model, asked, suited("E3", "E13"), tokenizer=tokenizer, labels=[passage.split()[1] for _, passage in asked])


def prompted() -> None:
    """A language model that decides by what it would say."""
    from transformers import AutoModelForCausalLM

    tokenizer = word_level()
    model = of("llama", AutoModelForCausalLM, tokenizer, **LLAMA)
    asked, labels = suited("E3") | {"E16": {}}, [row % 2 for row in range(10)]
    tried(model, texts(10), asked, tokenizer=tokenizer, labels=labels, prompt=PROMPT, answers=ANSWERS)


def windows() -> None:
    """A classifier of texts that are longer than what it reads at once."""
    from transformers import AutoModelForSequenceClassification

    tokenizer = word_pieces()
    model = of("bert", AutoModelForSequenceClassification, tokenizer, **named("bad", "good"))
    labels = [row % 2 for row in range(10)]
    options = {"window": 10, "stride": 3, "pooled": "mean-of-probabilities"}
    tried(model, texts(10, 24), suited("E9", "E13"), tokenizer=tokenizer, labels=labels, **options)


def plain_torch() -> None:
    """A Transformer of plain PyTorch."""
    import torch
    from torch import nn

    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(40, 16, padding_idx=0)
            layer = nn.TransformerEncoderLayer(16, 4, 24, dropout=0, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.decide = nn.Linear(16, 2)

        def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            states = self.encoder(self.embedding(tokens), src_key_padding_mask=~mask)
            return self.decide((states * mask.unsqueeze(-1)).sum(dim=1) / mask.sum(dim=1, keepdim=True))

    torch.manual_seed(0)
    lengths = torch.randint(3, 10, (12,))
    mask = torch.arange(9) < lengths.unsqueeze(-1)
    batch = {"token_ids": torch.randint(1, 40, (12, 9)).where(mask, 0), "mask": mask, "label": torch.arange(12) % 2}
    tried(Plain().eval(), [batch], LAYERS)


def sources() -> None:
    """The sources of an answer."""
    from transformers import AutoModelForCausalLM

    import attest

    tokenizer = word_level()
    model = of("llama", AutoModelForCausalLM, tokenizer, **LLAMA)
    found = [
        attest.sources(
            model, texts(6, seed=seed), answer="fine film", tokenizer=tokenizer, units="documents", prompt="{context} is",
            ablations=16, truth=[1],
        )
        for seed in (1, 2, 3)
    ]  # fmt: skip
    learned = found[0].learning_from(found[1:])
    learned.table.to_parquet("sources.parquet")
    learned.scores.drop(columns="seconds").rename_axis("reading").reset_index().to_parquet("scores.parquet")
    learned.write_page("sources.html")


LEARNING = (
    *("--run.evidence_while_training=true", "--model.init_args.learning_rate_scale=10"),
    "--data.init_args.train_texts=1920",
)
SMALL_ENCODER = settings(ENCODER, embedding_size=16, hidden_size=8)
CASES = (
    Case(
        "classes",
        "own BiLSTM, its adversary",
        run(
            *(*PLANTED, "MODEL=bilstm", *LEARNING, *SMALL_ENCODER, *POOLED, *settings("experiments.E14", texts=24, sets=5)),
            then=(("adversarial", "LAMBDA=1", *ONE_EPOCH),),
        ),
    ),
    Case(
        "classes",
        "own BiLSTM, its controls",
        run(
            *(*PLANTED, "MODEL=bilstm", "EXPERIMENTS=importance", "--experiments.E10=null", *SMALL_ENCODER),
            then=(("controls", "SEEDS=1", "GUIDE=base", *ONE_EPOCH),),
        ),
    ),
    Case(
        "classes",
        "own CNN",
        run(
            *(*PLANTED, "MODEL=cnn", "SCORING=dot", "PROJECTION=sparsemax", *POOLED),
            *settings(ENCODER, embedding_size=16, channels=4),
        ),
    ),
    Case(
        "classes",
        "own HAN",
        run(*PLANTED, "MODEL=han", *SMALL_ENCODER, *settings("experiments.E2", permutations=10)),
    ),
    Case(
        "classes",
        "own Transformer that pools",
        run(
            *(*PLANTED, "MODEL=transformer-me", "PROJECTION=entmax15", *POOLED),
            *settings(ENCODER, size=16, feedforward_size=16),
        ),
    ),
    Case(
        "classes",
        "layers of an own Transformer, its keys attacked",
        run(
            *(*PLANTED, "MODEL=transformer-dr", *WITHIN, *POOLED[-4:]),
            *settings(NETWORK, size=16, layers=2, heads=2, feedforward_size=16),
            then=(("keys", "ATTACK=adversarial", *ONE_EPOCH),),
        ),
    ),
    Case(
        "answers to questions",
        "own BiLSTM",
        run(
            *("MODEL=question-bilstm", "--data.init_args.train_questions=60", "--data.init_args.test_questions=20"),
            *(*SMALL_ENCODER, *POOLED),
        ),
    ),
    Case("tags", "layers of an own Transformer", tagged_run),
    Case("classes", "fine-tuned BERT", fine_tuned_run),
    Case("classes", "layers of a BERT, with explanations and marks", explained_classes),
    Case("classes", "layers of a GPT-2", classes("gpt2", "E3", **GPT2)),
    Case("classes", "softmax of a DeBERTa", classes("deberta-v2", **DEBERTA)),
    Case("classes", "cross-attention of a BART", classes("bart", **BART)),
    Case("classes", "windows of long texts", windows),
    Case("classes", "plain PyTorch", plain_torch),
    Case("several labels", "layers of a BERT", several_labels),
    Case("one number", "layers of a BERT", one_number),
    Case("tags", "layers of a BERT", tags),
    Case("choices", "layers of a BERT", choices),
    Case("spans", "layers of a BERT", spans),
    Case("words after a prompt", "layers of a Llama", prompted),
    Case("sources of an answer", "layers of a Llama", sources),
)


def draw_nothing() -> None:
    """Let matplotlib write empty pictures: drawing would be half of the work, and pictures are not compared."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    def save(figure: Figure, file: Any, *, format: str = "png", **options: Any) -> None:
        if isinstance(file, str | os.PathLike):
            Path(file).touch()
        else:
            file.write("<svg></svg>" if format == "svg" else b"")

    Figure.savefig, Figure.draw_without_rendering = save, lambda figure: None  # by which versions before 2026-11-29 draw
    FigureCanvasSVG.print_svg = lambda canvas, file, **options: file.write("<svg></svg>")
    measure = FigureCanvasAgg.print_png  # into a buffer, by which matplotlib asks how large texts are
    FigureCanvasAgg.print_png = lambda canvas, file, **options: (
        Path(file).touch() if isinstance(file, str | os.PathLike) else measure(canvas, file, **options)
    )


def make(case: Case, folder: Path) -> None:
    """Make one case in its folder, in this process; what is printed goes into a file there."""
    folder.mkdir(parents=True)
    os.chdir(folder)
    with Path(SAID).open("w") as said:
        for standard in (1, 2):
            os.dup2(said.fileno(), standard)
    try:
        case.make()
    except BaseException as error:  # a fork tells of everything in a file, and ends quietly
        traceback.print_exc()
        Path(FAILED).write_text(f"{type(error).__name__}: {error}")


def main(arguments: Sequence[str]) -> int:
    """Make every case, each in a fork."""
    root = Path(arguments[0]).resolve()
    for library in LIBRARIES:
        import_module(library)
    if not Path(str(sys.modules["attest"].__file__)).is_relative_to(Path.cwd()):
        sys.exit(f"{sys.modules['attest'].__file__} was imported; expected the code in {Path.cwd()}")
    draw_nothing()
    seconds: dict[str, float] = {}
    for case in CASES:
        if len(arguments) > 1 and arguments[1] not in case.name:
            continue
        before = cpu_seconds()
        fork = get_context("fork").Process(target=make, args=(case, root / case.name))
        fork.start()
        fork.join()
        seconds[case.name] = round(cpu_seconds() - before, 1)
        if fork.exitcode and not (root / case.name / FAILED).exists():
            (root / case.name / FAILED).write_text(f"its process ended with {fork.exitcode}")
    (root / SECONDS).write_text(json.dumps(seconds, indent=2))
    return 0


def cpu_seconds() -> float:
    """Return the CPU seconds of all forks that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
