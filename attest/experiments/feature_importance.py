"""E1: does attention rank the tokens as feature importance ranks them? (Jain & Wallace 2019; Meister et al. 2021)"""

import torch
from torch import Tensor

from attest.core.measures import kendall_tau_b_of_each, top_k_lists
from attest.core.measures.numbers import number, percent
from attest.core.rounding import in_steps
from attest.experiments.importance import (
    gradient_l1_norm_hidden,
    gradient_l1_norm_inputs,
    gradient_norm_hidden,
    gradient_norm_inputs,
    gradient_times_input,
    leave_one_out_hidden,
    leave_one_out_hidden_renormalised,
    leave_one_out_inputs,
)
from attest.experiments.says import AGREEMENT
from attest.experiments.sink import LEFT_OUT, WITHOUT, columns_of_decoders, has_sinks, tokens_that_are_sinks
from attest.experiments.spec import MOVES, Column, Drawing, Means, OfNumbers, Row, Spec, TokenWeights
from attest.experiments.words import agreement_over_words
from attest.models.observation import Observation
from attest.models.traits import traits_of

GRADIENTS = {
    "gradient_inputs": gradient_times_input,
    "gradient_norm_inputs": gradient_norm_inputs,
    "gradient_norm_hidden": gradient_norm_hidden,
}
L1_NORMS = {
    "gradient_l1_norm_inputs": gradient_l1_norm_inputs,
    "gradient_l1_norm_hidden": gradient_l1_norm_hidden,
}
LEAVE_ONE_OUT = {
    "leave_one_out_inputs": leave_one_out_inputs,
    "leave_one_out_hidden": leave_one_out_hidden,
    "leave_one_out_hidden_renormalised": leave_one_out_hidden_renormalised,
}

LEAD = 1.1
"""A token counts as clearly ahead of another one in attention if its weight is at least this many times the other weight."""
LEAST_MOVED = 1e-3
"""A TVD. If no removal of a single token moves the prediction of a text by more than this, leave-one-out cannot tell which
tokens decide: if a deciding word occurs twice, for example, each of the two makes up for the other."""


def feature_importance(observation: Observation, leave_one_out: bool = True, l1: bool = False) -> dict[str, Tensor]:
    """Compare the explanation, such as attention, with two measures of importance: gradients and leave-one-out.

    Args:
        leave_one_out: False for the gradients alone, which cost two backward passes instead of one forward pass a token.
        l1: whether the L1 norms of gradients are compared, too; they cost no further pass.
    Returns:
        Per token ``(B, T)``, at least 0, the importances of ``GRADIENTS``, ``L1_NORMS`` and ``LEAVE_ONE_OUT``; those of hidden
        states only if the network has any between ``encode`` and ``decode``. Per instance, ``(B,)`` float64, the other columns
        of ``SPEC``, NaN if undefined, over all tokens except spared ones (``spared_by``); if texts are in subwords, also those
        of ``agreement_over_words``. To rank tokens by leave-one-out, differences within rounding count as ties.
    """
    kinds = GRADIENTS | (LEAVE_ONE_OUT if leave_one_out else {}) | (L1_NORMS if l1 else {})
    if traits_of(observation.network).reads_in_decode:
        kinds = {name: importance for name, importance in kinds.items() if "hidden" not in name}
    importances = {name: importance(observation) for name, importance in kinds.items()}
    ranked = importances | _in_steps(observation, {name: importances[name] for name in LEAVE_ONE_OUT if name in importances})
    between = {}
    if leave_one_out:
        between = {"gradient_and_leave_one_out": (ranked["gradient_inputs"], ranked["leave_one_out_inputs"])}
    of_explanation, between_them = _correlations(observation, ranked, between)
    columns = importances | of_explanation | _pointing(observation, importances) | between_them
    if observation.words is None:
        return columns
    lifted = {name: ranked[name] for name in RANKED.values() if name in ranked}
    return columns | agreement_over_words(observation, lifted)


def _in_steps(observation: Observation, importances: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return importances in whole steps of rounding."""
    if not importances:
        return {}
    return dict(zip(importances, in_steps(torch.stack([*importances.values()]), observation.within), strict=True))


Pairs = dict[str, tuple[Tensor, Tensor]]
"""Pairs of token scores, float ``(B, T)`` each, whose rankings are correlated; the keys name the pairs in columns."""


def _correlations(observation: Observation, importances: dict[str, Tensor], between: Pairs) -> tuple[dict[str, Tensor], ...]:
    """Correlate the explanation with each importance, and the importances of each pair; one call ranks all of them.

    Returns:
        The columns of the explanation; and those of the pairs, with all those that leave sinks out.
    """
    explanation, mask = observation.explanation, observation.ranked
    support = mask & (explanation > 0)
    pairs = {name: (explanation, importance) for name, importance in importances.items()}
    asked = {name: (*pair, mask) for name, pair in (pairs | between).items()}
    asked |= {f"support_{name}": (*pair, support) for name, pair in pairs.items()}
    lists = top_k_lists(explanation, torch.stack([*importances.values()]), support.sum(dim=-1).clamp(min=1), mask)
    asked |= {f"top_k_{name}": (x, y, either) for name, x, y, either in zip(importances, *lists, strict=True)}
    sinks = has_sinks(observation.network)
    if sinks:
        without = mask & ~tokens_that_are_sinks(observation)
        asked |= {f"{name}{WITHOUT}": (*pair, without) for name, pair in (pairs | between).items()}
    found = kendall_tau_b_of_each(asked.values())
    statistics = found._asdict() | {"significant": found.significant, "ratio": found.tau / found.ceiling}
    rows = {statistic: dict(zip(asked, values, strict=True)) for statistic, values in statistics.items()}
    shown = ("tau", "significant", "ceiling", "ratio", "concordant")
    columns = {f"{statistic}_{name}": rows[statistic][name] for statistic in shown for name in importances}
    columns |= {f"tau_support_{name}": rows["tau"][f"support_{name}"] for name in importances}
    columns |= {f"tau_top_k_{name}": rows["tau_a"][f"top_k_{name}"] for name in importances}
    others = [*between, *(f"{name}{WITHOUT}" for name in (pairs | between) if sinks)]
    return columns, {f"{statistic}_{name}": rows[statistic][name] for name in others for statistic in ("tau", "concordant")}


def _pointing(observation: Observation, importances: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return how much attention lies on important tokens, and whether the most attended tokens are important.

    Legend: K importances.
    """
    allowed_KBT = torch.stack([*importances.values()]).masked_fill(~observation.ranked, 0)
    largest_KB1 = allowed_KBT.amax(dim=-1, keepdim=True)
    named_KBT = observation.ranked & (allowed_KBT >= 0.5 * largest_KB1)
    weights_BT = observation.explanation.masked_fill(~observation.ranked, 0).double()
    mass_KB = (weights_BT * named_KBT).sum(dim=-1) / weights_BT.sum(dim=-1)
    others_KB1 = weights_BT.masked_fill(named_KBT, 0).amax(dim=-1, keepdim=True)
    leads_KBT = named_KBT & (weights_BT >= LEAD * others_KB1) & (weights_BT > 0)
    top_BT = observation.ranked & (LEAD * weights_BT >= weights_BT.amax(dim=-1, keepdim=True))
    leads_KB = leads_KBT.sum(dim=-1) / named_KBT.sum(dim=-1)
    first_KB = (top_BT & named_KBT).sum(dim=-1) / top_BT.sum(dim=-1)
    least = {name: max(LEAST_MOVED, 10 * observation.within) for name in LEAVE_ONE_OUT}
    known_KB = torch.cat([each > least.get(name, 0.0) for name, each in zip(importances, largest_KB1, strict=True)], dim=-1).T
    found = torch.stack([mass_KB, leads_KB.double(), first_KB.double()], dim=1).where(known_KB.unsqueeze(1), torch.nan)
    return {
        f"{what}_{name}": column
        for name, columns in zip(importances, found, strict=True)
        for what, column in zip(("mass", "leads", "first"), columns, strict=True)
    }


RANKED = {"gradients": "gradient_inputs", "leave-one-out": "leave_one_out_inputs"}
"""The two measures of importance that the answer in the report compares with attention. The keys are what the answer calls
them, the values their names in columns."""


def _answer(mean: Means) -> str | None:
    """Return a sentence on the share of token pairs that attention and importance put in the same order."""
    if not any(f"E1/tau_{kind}" in mean for kind in RANKED.values()):
        return None
    shares = {name: share for name, kind in RANKED.items() if (share := mean.share(f"E1/concordant_{kind}")) is not None}
    if not shares:
        return _correlated(mean)
    said = " and ".join(f"with {name} in {share} of cases" for name, share in shares.items())
    between = mean.share("E1/concordant_gradient_and_leave_one_out")
    both = "" if between is None else f" Gradients and leave-one-out agree with each other in {between}."
    return (
        f"Which of two tokens is more important? Attention agrees {said} (mean over texts, without ties; chance: "
        f"{percent(0.5)}).{both}"
    )


def _correlated(mean: Means) -> str:
    taus = {name: tau for name, kind in RANKED.items() if (tau := mean.number(f"E1/tau_{kind}")) is not None}
    if not taus:
        return "Undefined: attention is the same at all tokens, so it ranks no token above another."
    ceilings = {name: mean.number(f"E1/ceiling_{RANKED[name]}") for name in taus}
    at_most = {name: "" if most is None else f" (ties allow at most {most})" for name, most in ceilings.items()}
    said = " and ".join(f"{tau} with {name}{at_most[name]}" for name, tau in taus.items())
    between = mean.number("E1/tau_gradient_and_leave_one_out")
    both = "" if between is None else f" Gradients and leave-one-out have {between} with one another."
    return f"Kendall's τ-b of attention, mean over texts, is {said}; 0 means no relation.{both}"


def _importance(name: str, title: str, in_detail: bool = False) -> TokenWeights:
    def note(row: Row) -> str:
        return f"τ-b with {str(row.get('attention_name', 'attention')).lower()} {number(row.get(f'E1/tau_{name}'))}"

    return TokenWeights(name, title, "importance", note, (f"tau_{name}",), in_detail)


BETWEEN = ("gradient × input with leave-one-out", "tau_gradient_and_leave_one_out")
AGREEING_BETWEEN = (BETWEEN[0], "concordant_gradient_and_leave_one_out")
PAIRS = "Two rankings can order most pairs of tokens alike and still begin with different tokens."
TAU = Column.correlation("tau_<importance>", "Kendall's τ-b of attention and importance")
CONCORDANT = Column.share(
    "concordant_<importance>", "share of untied token pairs that attention and importance order alike; 0.5 by chance"
)
TAU_GRADIENT = Column.correlation(
    "tau_gradient_inputs",
    "Do attention and |⟨∂ŷ/∂e, e⟩| (gradient × input at constant attention) rank the tokens alike? 1: the same ranking; 0: "
    "no relation. A high τ-b supports the claim that attention shows importance; a low τ-b alone does not refute this claim.",
    title="τ-b of attention and gradient × input",
    misread="Gradients are one measure of importance, not the truth.",
    suspicious="low",
    beside=BETWEEN,
    short=("τ gradient", "τ-b of attention and gradient × input, -1 to 1 (E1)."),
)
TAU_LEAVE_ONE_OUT = Column.correlation(
    "tau_leave_one_out_inputs",
    "Do attention and leave-one-out (how far the prediction moves without each token) rank the tokens alike?",
    title="τ-b of attention and leave-one-out",
    misread="The model was not trained on shortened texts. If a token occurs twice in a text, removing one of the two may "
    "change nothing.",
    suspicious="low",
    beside=BETWEEN,
    short=("τ leave-one-out", "τ-b of attention and leave-one-out, -1 to 1 (E1)."),
)
TAU_BETWEEN = Column.correlation(
    BETWEEN[1],
    "How well do gradient × input and leave-one-out of inputs agree? Attention can hardly agree better with gradient × input "
    "or with leave-one-out than these two agree with each other.",
    title="τ-b of gradient × input and leave-one-out",
    misread="If gradient × input and leave-one-out disagree, we do not know which of the two is wrong.",
)
CONCORDANT_BETWEEN = Column.share(
    AGREEING_BETWEEN[1], "share of untied token pairs that gradient × input and leave-one-out order alike"
)

SPEC = Spec(
    id="E1",
    name="importance of tokens",
    question="Does attention rank tokens as their importance does?",
    does="Correlates attention with gradients and leave-one-out, of inputs and hidden states, by Kendall's τ-b",
    source="Jain & Wallace 2019; Meister et al. 2021",
    about="tokens",
    cost="T forward passes for each text for leave-one-out, two backward passes for gradients",
    says=AGREEMENT,
    about_columns="With `l1=true`, `gradient_l1_norm_inputs` and `gradient_l1_norm_hidden` are importances, too. "
    "If texts are in subwords, `tau_words_<importance>` and `concordant_words_<importance>` are about words: "
    "attention and gradients are summed over the subwords of a word, and `leave_one_out_words` removes the whole word. No "
    "column ranks special tokens or the token at which a Transformer decides.",
    columns=(
        Column.at_least_0("<importance>", "importance of each token", type="list of float"),
        TAU,
        TAU_GRADIENT,
        Column.correlation(
            "tau_gradient_norm_inputs",
            "Do attention and ‖∂ŷ/∂e‖, where the gradient also flows through attention, rank the tokens alike?",
            title="τ-b of attention and gradient norm",
            misread="A gradient norm says how sensitive the prediction is to a token, not which class the token supports.",
            suspicious="low",
        ),
        Column.correlation(
            "tau_gradient_norm_hidden",
            "Do attention and gradient norms rank the hidden states alike? If the τ-b for hidden states is high and the τ-b "
            "for inputs is low, attention shows which states matter, not which words.",
            title="τ-b of attention and gradient norm, hidden states",
            misread="A hidden state also contains information from neighbouring tokens: it does not describe its own word "
            "alone.",
            suspicious="low",
        ),
        TAU_LEAVE_ONE_OUT,
        Column.correlation(
            "tau_words_leave_one_out_inputs",
            "Do attention and leave-one-out rank whole words alike? The attention of a word is the sum of the attention of "
            "its subwords; leave-one-out removes the whole word.",
            only="texts in subwords",
            title="τ-b of attention and leave-one-out, whole words",
            misread="The model was not trained on texts in which a word is missing.",
            suspicious="low",
        ),
        Column.correlation(
            "tau_leave_one_out_hidden",
            "Do attention and leave-one-out rank hidden states alike? The model encodes the whole text, and then attention "
            "leaves out one hidden state.",
            title="τ-b of attention and leave-one-out, hidden states",
            misread="The other hidden states were computed from the whole text: they still contain information from the "
            "missing token.",
            suspicious="low",
        ),
        TAU_BETWEEN,
        CONCORDANT,
        Column.share(
            "concordant_gradient_inputs",
            "Share of token pairs that attention and gradient × input rank alike, ties left out; 0.5 by chance. Sparse "
            "attention leaves few pairs of tokens to compare, because all tokens without attention are tied.",
            title="agreeing token pairs, attention and gradient × input",
            misread=PAIRS,
            suspicious="low",
            beside=AGREEING_BETWEEN,
        ),
        Column.share(
            "concordant_leave_one_out_inputs",
            "Share of token pairs that attention and leave-one-out rank alike, ties left out; 0.5 by chance.",
            title="agreeing token pairs, attention and leave-one-out",
            misread=PAIRS,
            suspicious="low",
            beside=AGREEING_BETWEEN,
        ),
        CONCORDANT_BETWEEN,
        Column.share("mass_<importance>", "share of attention on tokens with at least half of the largest importance"),
        Column.share(
            "mass_leave_one_out_inputs",
            "Share of attention on the tokens whose removal moves the prediction at least half as far as removing the most "
            "important token.",
            title="attention on tokens whose removal moves the prediction",
            misread="The share of attention on important tokens is undefined if no single token moves the prediction, for "
            "example if the deciding word occurs twice.",
            suspicious="low",
        ),
        Column.yes_or_no("significant_<importance>", "whether `tau_<importance>` has p < 0.05"),
        Column.yes_or_no(
            "significant_gradient_inputs",
            "Share of texts in which the τ-b of attention and gradient × input has p < 0.05. In long texts even a small τ-b "
            "is significant.",
            title="share of significant τ-b",
            misread="Significant is not strong.",
        ),
        Column.share("ceiling_<importance>", "the largest absolute τ-b that ties allow"),
        Column.share(
            "ceiling_gradient_inputs",
            "The largest absolute τ-b that ties allow. Sparse attention has many ties: do not compare its τ-b with that of "
            "dense attention.",
            title="ceiling of τ-b",
            misread="The ceiling of τ-b is the largest possible τ-b, not the measured τ-b.",
        ),
        Column.correlation("ratio_<importance>", "τ-b divided by its ceiling, the largest τ-b that ties allow"),
        Column.correlation("tau_support_<importance>", "τ-b among the tokens that get attention"),
        Column.correlation(
            "tau_top_k_<importance>",
            "agreement of attention and importance on their top k tokens; k: number of weights above 0",
        ),
        Column.share(
            "first_<importance>", "share of important tokens among tokens whose attention is within 10 % of the maximum"
        ),
        Column.share(
            "leads_<importance>", "share of important tokens with at least 1.1 times the attention of any unimportant token"
        ),
        *columns_of_decoders(
            (
                TAU,
                TAU_GRADIENT,
                TAU_LEAVE_ONE_OUT,
                CONCORDANT,
                TAU_BETWEEN.untitled(TAU_BETWEEN.name, TAU_BETWEEN.title),
                CONCORDANT_BETWEEN,
            ),
            LEFT_OUT,
        ),
    ),
    answer=_answer,
    weights=(
        _importance("gradient_inputs", "Gradient × input"),
        _importance("leave_one_out_inputs", "Leave-one-out"),
        _importance("gradient_norm_inputs", "Gradient norm", in_detail=True),
        _importance("gradient_norm_hidden", "Gradient norm, hidden states", in_detail=True),
        _importance("leave_one_out_hidden", "Leave-one-out, hidden states", in_detail=True),
    ),
    drawings=(
        Drawing(
            "tau_histograms",
            "Attention and feature importance",
            "Kendall's τ-b of attention with gradient × input and with leave-one-out, by predicted class (Jain & Wallace "
            "2019, Fig. 2 and 8). Dashed: the mean. Dotted lines: a τ-b beyond them has p < 0.05 in a text of median length.",
            "importance_histograms",
        ),
        Drawing(
            "inputs_and_hidden_states",
            "Inputs and hidden states",
            "Mean τ-b of attention with the importance of inputs and of hidden states (Meister et al. 2021, Fig. 1 and 4). "
            "Attention that agrees with the importance of hidden states need not agree with the importance of inputs. "
            "Diamonds: the ceiling.",
            "importance_bars",
        ),
    ),
    run=feature_importance,
    any_reading=True,
    at_validation={"leave_one_out": False},
    quadratic="leave-one-out",
    of_tokens=True,
    of_numbers=OfNumbers(f"gradients are of the number itself, and leave-one-out says how far it moves, {MOVES}"),
)
