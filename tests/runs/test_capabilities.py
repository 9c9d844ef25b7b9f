"""What a model can be asked is what its classes declare: a user's subclass can be asked what its base class can."""

from typing import Any

import pytest
from pytorch_lightning import LightningModule

from attest.app.adversaries import adversary, guide, lambdas_of, require_adversary, require_controls
from attest.app.cli.keys import _require_self_attention as require_self_attention
from attest.app.dependent import Base
from attest.core.attention import Sparsegen, Uniform
from attest.core.errors import AttestError
from attest.core.places import configs_folder
from attest.lightning_modules import Classifier, Tagger
from attest.models.networks import PoolingClassifier, TransformerClassifier, TransformerEncoder, TransformerTagger
from attest.runs import capabilities
from attest.runs.dependent_names import AdversaryChoices
from attest.runs.folder import RunFolder


class MyClassifier(Classifier):
    pass


class MyTagger(Tagger):
    pass


class MyModule(LightningModule):
    """A LightningModule of nobody's."""


class MyEncoder(TransformerEncoder):
    pass


class MyTransformer(TransformerClassifier):
    pass


class MyPooling(PoolingClassifier):
    pass


class MyTaggingNetwork(TransformerTagger):
    pass


class MySparse(Sparsegen):
    pass


class MyUniform(Uniform):
    pass


def own(name: str, **init_args: Any) -> dict[str, Any]:
    return {"class_path": f"{__name__}.{name}", "init_args": init_args}


def settings(module: dict[str, Any]) -> dict[str, Any]:
    run = {"model": "mine", "projection": "softmax", "recipe": "jw"}
    return {"model": module, "run": run, "experiments": {"instances": {}}}


CLASSIFIER = settings(own("MyClassifier", network=own("MyPooling", encoder=own("MyEncoder"))))
TAGGER = settings(own("MyTagger", network=own("MyTaggingNetwork")))


def test_a_subclass_can_have_the_adversaries_of_its_kind():
    for base, module, lam in ((CLASSIFIER, "TrainedAdversary", 1e-3), (TAGGER, "TaggingAdversary", 0.2)):
        require_adversary(AdversaryChoices(), base)
        assert lambdas_of(AdversaryChoices(), base) == (lam,)
        assert adversary(AdversaryChoices(), lam, base).overlay["model"]["class_path"].endswith(module)


def test_a_subclass_can_have_the_controls_of_its_kind():
    for base, module in ((CLASSIFIER, "GuidedClassifier"), (TAGGER, "ProbedTagger")):
        require_controls(base)
        trained = Base(RunFolder(configs_folder()), base)
        assert guide("base", trained).overlay["model"]["class_path"].endswith(module)


def test_a_subclass_of_a_transformer_can_be_attacked_wherever_its_layers_are(refusal):
    require_self_attention(CLASSIFIER)
    require_self_attention(settings(own("MyClassifier", network=own("MyTransformer"))))
    with refusal():
        require_self_attention(TAGGER)
    with refusal():
        require_self_attention(settings(own("MyClassifier", network=own("MyPooling"))))
    with refusal():
        require_self_attention(settings(own("MyModule", network=own("MyTransformer"))))


def test_a_subclass_of_a_projection_is_as_sparse_as_that_and_reads_as_little(refusal):
    def base(projection: str) -> dict[str, Any]:
        return settings(own("MyClassifier", network=own("MyPooling", projection=own(projection))))

    with refusal():
        require_adversary(AdversaryChoices(), base("MySparse"))
    require_adversary(AdversaryChoices(divergence="jsd"), base("MySparse"))
    with refusal():
        require_adversary(AdversaryChoices(), base("MyUniform"))


@pytest.mark.parametrize("name", ["TrainedAdversary", "GuidedClassifier", "KeyAdversary", "TaggingAdversary", "ProbedTagger"])
def test_nothing_depends_on_what_depends_itself(name):
    base = settings({"class_path": f"attest.lightning_modules.{name}", "init_args": {"network": own("MyPooling")}})
    assert capabilities.predicts(base) is None
    with pytest.raises(
        AttestError, match=f"no adversary can be trained against .*{name}; expected a LightningModule that is no adversary"
    ):
        require_adversary(AdversaryChoices(), base)
    with pytest.raises(
        AttestError, match=f"no control runs can be trained for .*{name}; expected a LightningModule that is no adversary"
    ):
        require_controls(base)


def test_a_module_that_declares_nothing_is_refused_and_told_what_to_declare(refusal):
    with refusal():
        require_adversary(AdversaryChoices(), settings(own("MyModule", network=own("MyPooling"))))
