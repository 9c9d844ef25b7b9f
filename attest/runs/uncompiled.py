"""Lightning without PyTorch's compiler, which it imports to recognise a compiled model: a second, and SymPy with it.

A plan resolves settings and makes no model. What is imported so can train as well, but should not be compiled: the compiler
is not told to leave Lightning's own bookkeeping alone.
"""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from attest.runs.lightly import import_lightly
from attest.runs.words import are_ours

COMPILER = "torch._dynamo"
LIGHTNING = "pytorch_lightning"
PACKAGES = (LIGHTNING, "lightning_fabric")


def import_uncompiled(arguments: Sequence[str]) -> None:
    """Import Lightning as lightly as may be, and without the compiler if it does with what the stand-in has.

    Nothing happens where a file or a class from elsewhere was typed, which may need the compiler.

    Args:
        arguments: choices and options.
    """
    import_lightly(arguments)
    if not are_ours(arguments) or LIGHTNING in sys.modules or COMPILER in sys.modules:
        return
    sys.modules[COMPILER] = _StandIn(COMPILER)
    try:
        import_module(LIGHTNING)
    except (ImportError, AttributeError):
        _forget_lightning()
    finally:
        del sys.modules[COMPILER]


class _OfTheCompiler(type):
    """Its instances are those of the compiler's class of this name, once that is imported."""

    def __instancecheck__(cls, instance: Any) -> bool:
        theirs = getattr(sys.modules.get(COMPILER), cls.__name__, cls)
        return theirs is not cls and isinstance(instance, theirs)


class OptimizedModule(metaclass=_OfTheCompiler):
    """A compiled model."""


class _StandIn(ModuleType):
    OptimizedModule = OptimizedModule

    @staticmethod
    def disable(function: Callable[..., Any], *_: Any, **__: Any) -> Callable[..., Any]:
        """The function as it is."""
        return function


def _forget_lightning() -> None:
    """Another version, which asks more of the compiler: whoever needs it imports it again, in full."""
    for name in [name for name in sys.modules if name.partition(".")[0] in PACKAGES]:
        del sys.modules[name]
