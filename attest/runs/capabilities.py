"""The capabilities of a model, read from the settings of a run before anything is built or trained.

The settings name classes, which are imported here. Attributes of these classes declare what the classes can do, and a subclass
inherits them.

* A LightningModule ``predicts`` ``"label"``, one for each text, or ``"tags"``, one for each token. A LightningModule with the
  method ``take_base`` is trained against a base run, and its own run cannot be a base run.
* A network ``pools_by_attention`` and ``trains_with_any_projection`` unless it says otherwise, and ``reads_questions`` only if
  it says so. ``attends_within`` says that tokens attend to one another in the network or in an encoder inside it.
* A projection ``reads_scores`` unless it says otherwise. ``is_sparse`` says whether it can give a real token exactly 0.
"""

from importlib import import_module
from typing import Any

Settings = dict[str, Any]


def class_named(path: str) -> Any:
    """Import and return the class with the dotted name ``path``."""
    module, name = path.rsplit(".", 1)
    return getattr(import_module(module), name)


def predicts(settings: Settings) -> str | None:
    """Return what a run predicts, ``label`` or ``tags``; None if the run cannot be a base run."""
    model = settings["model"]
    return None if declared(model, "take_base", None) is not None else declared(model, "predicts", None)


def learned_by(model: Any) -> str | None:
    """Return what a LightningModule ``predicts``, ``label`` or ``tags``; None if it does not say."""
    return getattr(model, "predicts", None)


def declared(part: Settings, attribute: str, otherwise: Any = True) -> Any:
    """Return an attribute of the class named in settings; return ``otherwise`` if the class lacks this attribute."""
    return getattr(class_named(part["class_path"]), attribute, otherwise)


def attends_within(network: Any) -> bool:
    """Return whether a network, or a part of it, declares by ``attends_within`` that it has self-attention."""
    if isinstance(network, list):
        return any(map(attends_within, network))
    if not isinstance(network, dict):
        return False
    within = network.get("class_path") is not None and declared(network, "attends_within", False)
    return within or any(map(attends_within, network.values()))


def is_sparse(projection: Settings) -> bool:
    """Return whether a projection (scores to attention weights) can give a non-padding token exactly 0."""
    says = declared(projection, "is_sparse", None)
    return says is not None and says(**projection.get("init_args") or {})
