"""Every shipped choice composes, builds, and learns 32 texts by heart."""

from functools import cache
from typing import Any

import pytest
import torch
import yaml
from jsonargparse import ArgumentParser, Namespace
from pytorch_lightning import LightningModule
from torch.nn import functional

from attest.app.configured import ConfiguredRun
from attest.callbacks import Erasure
from attest.core.places import configs_folder
from attest.runs.asked import AskedRun, RunSettings
from attest.runs.choices import choice_arguments
from attest.runs.experiment_settings import sized

MODELS = sorted(path.stem for path in (configs_folder() / "model").glob("*.yaml"))
STARTED_ELSEWHERE = ["pretrained", "pretrained-tagger"]
PARAMETERS = {"entmax": ":1.3", "sparsegen": ":0.5"}
PROJECTIONS = sorted(
    f"{path.stem}{PARAMETERS.get(path.stem, '')}" for path in (configs_folder() / "projection").glob("*.yaml")
)
RECIPES = sorted(path.stem for path in (configs_folder() / "recipe").glob("*.yaml"))
TAGS = ("O", "B-NP", "I-NP")


@cache
def parser() -> Any:
    """The parser of ``attest fit``; making it takes a second."""
    return ConfiguredRun("fit", AskedRun.of([])).parser


def compose(**choices: str) -> Namespace:
    """The configuration that choices stand for."""
    return parser().parse_args(["fit", *AskedRun.of([f"{name}={value}" for name, value in choices.items()]).arguments]).fit


@cache
def model_parser() -> ArgumentParser:
    """Knows models as ``attest fit`` does, and takes what else is in their files as it comes."""
    models = ArgumentParser()
    models.add_argument("--config", action="config")
    models.add_subclass_arguments(LightningModule, "model")
    models.add_class_arguments(RunSettings, "run")
    for section in ("data", "trainer"):
        models.add_argument(f"--{section}", type=dict)
    return models


def build(from_data: dict[str, Any], pretrained: str = "", **choices: str) -> LightningModule:
    """The model of these choices, given what it would learn from its data, and what it starts from where it does."""
    arguments = choice_arguments({"DATA": "planted"} | choices)
    others = [f"/configs/{other}/" for other in ("data", "trainer", "logger", "experiments")]
    ours = [each for each in arguments if not any(other in each for other in others)]
    config = model_parser().parse_args(ours)
    config.model.init_args.update(Namespace(**from_data))
    if pretrained:
        config.model.init_args.network.init_args.pretrained = pretrained
    return model_parser().instantiate_classes(config).model


def from_data(model: str) -> dict:
    if model.endswith("tagger"):
        return {"vocab_size": 258, "num_classes": 3, "label_names": TAGS}
    return {"vocab_size": 258, "num_classes": 2, "positive_weight": 1.0}


def thirty_two_texts(model: str) -> dict:
    """Words that occur once, 3 to 8 a text, and random labels; for HAN 2 or 3 sentences of the same words.

    No word in common, so that even attention that never looks at a second word can learn them.
    """
    generator = torch.Generator().manual_seed(1)
    real = torch.arange(8) < torch.randint(3, 9, (32, 1), generator=generator)
    tokens = (2 + torch.randperm(256, generator=generator).view(32, 8)) * real
    batch = {"token_ids": tokens, "mask": real, "label": torch.randint(0, 2, (32,), generator=generator)}
    if model.startswith("han"):
        sentences = torch.arange(3) < torch.randint(2, 4, (32, 1), generator=generator)
        mask = real.unsqueeze(1) & sentences.unsqueeze(-1)
        return batch | {"token_ids": tokens.unsqueeze(1) * mask, "mask": mask, "sentence_mask": sentences}
    if model.startswith("question"):  # the same word behind every text, outside the mask
        rows = {"token_ids": functional.pad(tokens, (0, 1), value=1), "mask": functional.pad(real, (0, 1))}
        return batch | rows
    if model.endswith("tagger"):
        return batch | {"tags": torch.randint(0, 3, (32, 8), generator=generator).where(real, -100)}
    return batch


QUICK, MANY = ("softmax", "sparsemax"), pytest.mark.whole("many trainings")


def share_right(module, batch) -> float:
    with torch.no_grad():
        logits = module.eval()(batch["token_ids"], batch.get("sentence_mask", batch["mask"]))
    module.train()
    if "tags" in batch:
        return (logits.argmax(dim=-1) == batch["tags"])[batch["mask"]].double().mean().item()
    return ((logits[:, 0] > 0) == batch["label"]).double().mean().item()


@pytest.mark.whole("many trainings")
@pytest.mark.parametrize("projection", [each if each in QUICK else pytest.param(each, marks=MANY) for each in PROJECTIONS])
@pytest.mark.parametrize("model", [model for model in MODELS if model not in STARTED_ELSEWHERE])
def test_every_model_under_every_projection_overfits_32_texts(model, projection):
    torch.manual_seed(0)
    require_learning(model, build(from_data(model), MODEL=model, PROJECTION=projection))


@pytest.mark.parametrize("model", STARTED_ELSEWHERE)
def test_models_that_were_pretrained_overfit_32_texts(model, tmp_path):
    from transformers import BertPreTrainedModel

    from tests.models.pretrained.tiny import SPECIAL, pretrained_folder

    letters = 2 * 26 + len(SPECIAL)
    base = pretrained_folder(tmp_path, [f"w{number}" for number in range(256 - letters)])
    torch.manual_seed(0)
    module = build(from_data(model), str(base), MODEL=model)
    assert isinstance(module.network.model, BertPreTrainedModel)
    require_learning(model, module)


def require_learning(model, module):
    """All 32 texts are right within 100 steps."""
    module.log = lambda *_, **__: None
    batch = thirty_two_texts(model)
    rate = 5e-4 if model.startswith("transformer") else 5e-3  # deep networks that normalise last diverge at 5e-3
    optimiser = torch.optim.Adam(module.parameters(), lr=rate)
    for step in range(100):
        optimiser.zero_grad()
        module.training_step(batch, 0).backward()
        optimiser.step()
        if step % 5 == 4 and share_right(module, batch) == 1:
            return
    pytest.fail(f"after 100 steps {share_right(module, batch):.2f} are right")


OF_QUESTIONS = ("jw-questions", "jw-snli", "jw-cnn-qa")


@pytest.mark.parametrize("scoring", ["additive", "dot"])
@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_and_scoring_composes(recipe, scoring):
    model = "question-bilstm" if recipe in OF_QUESTIONS else "bilstm"
    run = compose(MODEL=model, RECIPE=recipe, SCORING=scoring).run
    assert (run.recipe, run.scoring, run.model) == (recipe, scoring, model)


@pytest.mark.parametrize("experiments", sorted(path.stem for path in (configs_folder() / "experiments").glob("*.yaml")))
def test_every_choice_of_experiments_composes(experiments):
    chosen = compose(MODEL="bilstm", RECIPE="jw", EXPERIMENTS=experiments)
    asked = sized(yaml.safe_load((configs_folder() / "experiments" / f"{experiments}.yaml").read_text()))
    assert chosen.experiments.keys() == asked["experiments"].keys()


def test_what_a_choice_of_experiments_says_reaches_the_experiment():
    given = compose(MODEL="bilstm", RECIPE="jw", EXPERIMENTS="pooled").experiments["E14"]
    assert Erasure(**given).options == {"texts": 32, "sets": 20}


@pytest.mark.parametrize("model", MODELS)
def test_a_model_names_a_recipe_that_exists(model):
    content = yaml.safe_load((configs_folder() / "model" / f"{model}.yaml").read_text())
    assert content["run"]["model"] == model
    assert content["run"]["recipe"] in RECIPES


@pytest.mark.parametrize(
    ("model", "experiments"),
    [
        ("tagger", "layers-tagger"),
        ("pretrained", "pretrained"),
        ("pretrained-tagger", "pretrained-tagger"),
        ("transformer-dr", "layers"),
        ("han", "weights"),
        ("han-cnn", "weights"),
        ("cnn", "pooled"),
    ],
)
def test_a_model_brings_its_own_defaults(model, experiments):
    assert f"/experiments/{experiments}.yaml" in " ".join(choice_arguments({"MODEL": model, "DATA": "planted"}))


def test_analyses_of_attacks_are_some_of_those_inside_layers():
    layers, attacks = (compose(MODEL="transformer-dr", EXPERIMENTS=name).experiments for name in ("layers", "attacks"))
    assert {*attacks} == {"instances", "E8", "E9", "maps"}
    assert attacks == {name: layers[name] for name in attacks}


def test_what_is_typed_outweighs_what_the_model_brings():
    assert "/scoring/additive.yaml" in " ".join(choice_arguments({"MODEL": "transformer-me", "SCORING": "additive"}))
    assert "/scoring/dot.yaml" in " ".join(choice_arguments({"MODEL": "transformer-me"}))


def test_a_parameter_reaches_the_projection_and_the_name_of_the_run():
    composed = compose(PROJECTION="entmax:1.25")
    assert composed.run.projection == "entmax:1.25"
    assert composed.model.init_args.network.init_args.projection.init_args.alpha == 1.25
    assert compose(PROJECTION="sparsegen:-3").model.init_args.network.init_args.projection.init_args.lam == -3


@pytest.mark.parametrize(
    "typed",
    [
        "entmax",
        "softmax:2",
        "entmx:2",
    ],
)
def test_parameters_missing_or_too_many_are_named(typed, refusal):
    with refusal():
        choice_arguments({"PROJECTION": typed})


def test_the_recipes_are_those_of_the_papers():
    """The numbers that EXPERIMENTS names, read back from what would run."""
    jw, me, dr, ss = (compose(MODEL="bilstm", RECIPE=recipe) for recipe in ("jw", "me", "dr", "ss"))
    rates = [each.model.init_args.optimizer.init_args.lr for each in (jw, me, dr, ss)]
    assert rates == [1e-3, 1e-4, 1e-4, 4e-4]
    assert [each.data.init_args.batch_size for each in (jw, me, dr, ss)] == [32, 32, 32, 64]
    assert [each.model.init_args.optimizer.init_args.amsgrad for each in (jw, me)] == [True, True]
    assert [each.model.init_args.optimizer.init_args.weight_decay for each in (jw, me)] == [1e-5, 1e-5]
    assert jw.trainer.max_epochs == 8
    assert compose(MODEL="transformer-me").model.init_args.learning_rate_scale == 0.1
