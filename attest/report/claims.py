"""What the report says in words: every measure's name, what it means, how it is misread, and the question it bears on."""

from typing import NamedTuple


class Claim(NamedTuple):
    """What a number is called and what it says."""

    name: str
    """Experiment, two blanks, measure."""
    means: str
    not_meant: str = ""
    """How it is easily misread."""


SCORES = {
    "test/accuracy": (
        "Accuracy",
        "Share of test texts decided as their label says.",
        "How well the model decides says nothing about why.",
    ),
    "test/f1": ("F1", "Harmonic mean of precision and recall of the positive class (macro average for more classes)."),
    "test/roc_auc": ("ROC-AUC", "Probability that a positive text scores above a negative one."),
}

EVIDENCE = {
    "E1/tau_gradient_inputs": (
        "E1  τ-b of attention and gradient × input",
        "Do tokens rank alike by attention and by |⟨∂ŷ/∂e, e⟩| with attention held constant? 1: the same ranking; 0: none in "
        "common. High speaks for reading attention as importance, low does not by itself speak against it.",
        "Gradients are one idea of importance, not the truth about it.",
    ),
    "E1/tau_gradient_norm_inputs": (
        "E1  τ-b of attention and gradient norm",
        "The same with ‖∂ŷ/∂e‖, the gradient flowing through the attention too.",
        "A gradient norm tells how sensitive the prediction is, not which way a token speaks.",
    ),
    "E1/tau_gradient_norm_hidden": (
        "E1  τ-b of attention and gradient norm, hidden states",
        "The same of the hidden states that attention weights. High here and low for inputs: attention says which states "
        "matter, not which words.",
        "A hidden state has read its neighbours: it does not stand for its word alone.",
    ),
    "E1/tau_leave_one_out_inputs": (
        "E1  τ-b of attention and leave-one-out",
        "Do tokens rank alike by attention and by how far the prediction moves when they are removed and the text read anew?",
        "A shortened text is one the model was not trained on; two equal tokens can hide one another.",
    ),
    "E1/tau_leave_one_out_hidden": (
        "E1  τ-b of attention and leave-one-out, hidden states",
        "The same where the text is read as it was and attention must do without one of its states.",
    ),
    "E1/tau_gradient_and_leave_one_out": (
        "E1  τ-b of gradient × input and leave-one-out",
        "How far two kinds of importance agree with one another: what may be expected of attention at best.",
    ),
    "E1/concordant_gradient_inputs": (
        "E1  pairs that attention and gradient × input order alike",
        "Of the pairs of tokens that differ in both, the share that both order alike. By chance 0.5. Tokens without attention "
        "are tied, so of sparse attention this speaks of few pairs.",
    ),
    "E1/concordant_leave_one_out_inputs": ("E1  pairs that attention and leave-one-out order alike", "The same."),
    "E1/significant_gradient_inputs": (
        "E1  share of significant τ-b",
        "Share of texts whose τ-b with gradient × input has p < 0.05. Long texts reach it with a small τ-b.",
        "Significant is not strong.",
    ),
    "E1/ceiling_gradient_inputs": (
        "E1  ceiling of τ-b",
        "The largest |τ-b| that ties allow: sparse attention has many, so raw τ-b of sparse and dense do not compare.",
    ),
    "E2/tvd_median": (
        "E2  Δŷ under permuted attention",
        "Median total variation distance of the prediction when attention is shuffled over the tokens, 0 to 1. Near 0: the "
        "prediction does not depend on which tokens were attended to.",
        "That shuffling moves the prediction does not show that attention lay on the right tokens.",
    ),
    "E2/flipped": ("E2  decisions flipped", "Share of permutations that change the decision."),
    "E3/jsd_exact": (
        "E3  ε-max JSD, exact",
        "How different an attention gives the same prediction, to 0.01: the largest Jensen-Shannon divergence there is, up to "
        "ln 2 = 0.693. Large: the prediction does not pin the attention down.",
        "That another attention exists does not mean that training would find it, nor that this one is false.",
    ),
    "E3/jsd_search": (
        "E3  ε-max JSD, by search",
        "The same as gradient search finds it, k = 5; it can only fall short of the exact one.",
    ),
    "E3/jsd_search_filter": (
        "E3  ε-max JSD, by search, as released",
        "The same search, its results kept while the prediction moves by at most 0.05, as the released code does.",
    ),
    "E5/jsd": (
        "E5  JSD between seeds",
        "How far apart attention is when nothing but the seed differs: the noise floor of every other difference.",
        "A small one says that training is stable, not that attention explains.",
    ),
    "E5/jsd_matched": (
        "E5  JSD between seeds, heads matched",
        "The same with each head beside the one of the other seed that it stands for: heads of a layer have no order.",
        "A small one says that training is stable, not that attention explains.",
    ),
    "E6/tvd": ("E6  TVD to the base", "How far the predictions of a model whose attention is given are from the base's."),
    "E6/same": ("E6  decisions as the base's", "Share of texts, of taggers of tokens, that are decided as the base decides."),
    "E7/jsd": (
        "E7  JSD to the base's attention",
        "How differently this run attends, trained to predict as its base does; ln 2 = 0.693 is the most.",
        "Only what exceeds the JSD between seeds (E5) was gained by trying.",
    ),
    "E7/jsd_matched": (
        "E7  JSD to the base's attention, heads matched",
        "The same with each head beside the one of the base that it stands for.",
        "What the plain one has above this was gained by exchanging heads, which changes nothing.",
    ),
    "E7/kl": ("E7  KL to the base's attention", "The same as Kullback-Leibler divergence, from the adversary to the base."),
    "E7/tvd": (
        "E7  TVD to the base's predictions",
        "What the other attention costs: how far the predictions have moved, 0 to 1.",
    ),
    "E7/nll": ("E7  NLL of the base's tags", "What the other attention costs, in nats a token."),
    "E7/same": ("E7  decisions as the base's", "Share of texts, of taggers of tokens, that are decided as the base decides."),
    "E8/correct_softmax": (
        "E8  accuracy under softmax",
        "The trained model, its projection swapped for softmax.",
        "Only the projection differs: a model trained with it could do better.",
    ),
    "E8/correct_sparsemax": ("E8  accuracy under sparsemax", "The trained model, its projection swapped for sparsemax."),
    "E8/correct_entmax15": ("E8  accuracy under 1.5-entmax", "The trained model, its projection swapped for 1.5-entmax."),
    "E8/kept_softmax": ("E8  decisions kept under softmax", "Share of decisions that stay under softmax."),
    "E8/kept_sparsemax": (
        "E8  decisions kept under sparsemax",
        "Share of decisions that stay under sparsemax.",
    ),
    "E8/kept_entmax15": (
        "E8  decisions kept under 1.5-entmax",
        "Share of decisions that stay under 1.5-entmax.",
    ),
    "E8/support": ("E8  support of the attention", "Share of real tokens that get any weight."),
    "E9/correct_shuffled": (
        "E9  accuracy with keys shuffled",
        "The keys of every layer permuted over the tokens, so that attention falls on others. As good as before: where it "
        "fell did not matter.",
    ),
    "E9/correct_shuffled_layer1": ("E9  accuracy, first layer shuffled", "The same in the first layer alone."),
    "E9/correct_attacked": (
        "E9  accuracy under attack",
        "With the keys that an adversary was trained to put there, scored on the label it was trained for.",
    ),
    "E9/jsd_attacked": (
        "E9  JSD of the attention under attack",
        "How different the attention is under attack, mean over rows, up to ln 2 = 0.693.",
    ),
    "E10/entropy_gradient": (
        "E10  H̃ of the influence of inputs",
        "Normalised entropy of the gradient norms of the inputs, 1: spread evenly. Sparse attention need not make it smaller.",
    ),
    "E10/entropy_hidden": (
        "E10  H̃ of the influence on hidden states",
        "The same of the inputs' influence on single hidden states, on a sample of texts: near 1, a state stands for all.",
    ),
    "E11/only_top": (
        "E11  decisions that need the top token",
        "Share of texts whose decision flips without the most attended token but not without a random other one.",
        "Most decisions need no single token; that no one flips does not clear the attention.",
    ),
    "E11/only_random": ("E11  decisions that need another", "The reverse: only the random other one flips the decision."),
    "E12/flips_in_every_order": (
        "E12  texts that flip in every order",
        "Share of the texts whose decision flips whichever order weights are zeroed in. The two rows that follow are means "
        "over these texts alone, so that they can be compared.",
    ),
    "E12/fraction_common_attention": (
        "E12  erased by attention until the flip",
        "Share of the weights zeroed, largest first, before the decision flips, over the texts that flip in every order.",
        "Zeroed weights leave the hidden states as they are: what the tokens told their neighbours stays.",
    ),
    "E12/fraction_common_minimum": (
        "E12  erased at least until the flip",
        "Share of the weights in the smallest set that flips the decision, exactly, over the same texts. A faithful order "
        "comes near.",
    ),
    "E12/fraction_attention": (
        "E12  erased by attention, where that flips",
        "Share of the weights zeroed, largest first, before the decision flips, over the texts that flip in this order. Not "
        "to be compared with the least possible share, which is over other texts.",
    ),
    "E12/fraction_minimum": (
        "E12  erased at least, where anything flips",
        "Share of the weights in the smallest set that flips the decision, exactly, over all texts that have such a set.",
    ),
    "E13/trivial_context": (
        "E13  contexts that determine their attention",
        "Share of texts in which no other weights give the same context. In all others the attention is one of many.",
    ),
    "E13/trivial": (
        "E13  heads that determine their attention",
        "Share of heads, mean over texts, in which no other weights give the same output. Where texts have more tokens than a "
        "head has dimensions there is none.",
    ),
    "E13/tau": (
        "E13  τ-b of raw and effective attention",
        "Do the weights rank the tokens as the part of them does that the head's output determines?",
    ),
}


NEWER = {f"E12/fraction_{order}": f"E12/fraction_common_{order}" for order in ("attention", "minimum")}
"""Numbers that are shown of older runs alone, and what newer ones have in their place."""


QUESTIONS = {
    "test": "Is the model worth asking?",
    "E4": "Does the task need attention at all?",
    "E1": "Does attention rank tokens as their importance does?",
    "E2": "Does the prediction depend on where attention lies?",
    "E3": "Would quite another attention have given the same prediction?",
    "E5": "How far apart is attention when only the seed differs?",
    "E6": "Is another run's attention of use to a model that must attend so?",
    "E7": "Can a model be trained that predicts the same and attends elsewhere?",
    "E8": "Does the model survive another projection?",
    "E9": "Does the model survive other keys?",
    "E10": "How concentrated is the influence of the inputs?",
    "E11": "Does erasing the most attended token matter more than erasing another?",
    "E12": "How many weights must go until the decision flips?",
    "E13": "Does what the model computes determine its attention?",
}
"""By experiment, in the order of the report; experiments that are not listed come last, under their id."""
