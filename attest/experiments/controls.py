"""The specs of E4 to E7, which compare trained runs with one another.

E4: is uniform attention as good? E5: how far apart is attention when only the seed differs? E6: does a run's attention help a
model that must use it? E7: can a model be trained that predicts the same and attends elsewhere? ``adversarial_loss.py``
has the loss of E7. (Wiegreffe & Pinter 2019; Meister et al. 2021; Yang.)
"""

from dataclasses import replace

from attest.experiments.spec import Column, Measure, Spec

TVD = Column.share("tvd", "TVD of the run's prediction from the base's")
SAME = Column.yes_or_no("same", "whether run and base decide alike; for taggers the share of such tokens", type="bool")
DECISIONS = Measure(
    "same",
    "decisions as the base's",
    "Share of texts (for taggers: of tokens) with the base's decision.",
    "Most texts are easy: compare with a model under uniform attention.",
)
ONLY_STABLE = "A small one shows that training is stable, not that attention explains."

UNIFORM = Spec(
    id="E4",
    place=0,  # it says whether anything below means something
    question="Does the task need attention at all?",
    does="Trains the same model with uniform attention, and compares both text by text",
    source="Wiegreffe & Pinter 2019",
    about="predictions",
    cost="one training",
    needs="controls",
)

SEEDS = Spec(
    id="E5",
    question="How far apart is attention when only the seed differs?",
    does="Trains the same model with other seeds",
    source="Wiegreffe & Pinter 2019",
    about="states",
    cost="one training for each seed",
    needs="controls",
    about_columns=(
        "Controls in `controls/evidence/` of the base's folder have the columns of E7 for each seed, such as `jsd/seed 1`, "
        "and their means over seeds, such as `jsd`."
    ),
    columns=(
        Column.nats("jsd", "JSD between the attention of this seed and of other seeds"),
        Column.nats("jsd_matched", "taggers only: JSD with each head compared with its match in the other seed"),
    ),
    measures=(
        Measure.high(
            "jsd",
            "JSD between seeds",
            "How far apart (JSD) attention is when only the seed differs: the noise in every other difference.",
            ONLY_STABLE,
        ),
        Measure.high(
            "jsd_matched",
            "JSD between seeds, heads matched",
            "The same JSD, with each head compared with its match in the other seed: heads of a layer have no order.",
            ONLY_STABLE,
        ),
    ),
)

GUIDES = Spec(
    id="E6",
    question="Does another run's attention help a model that must use it?",
    does="Trains a model without context under a given attention",
    source="Wiegreffe & Pinter 2019; Yang",
    about="states",
    cost="one training",
    needs="controls",
    about_columns="Guided runs in `guides/<name>/` of their base's folder have the columns of E7.",
    columns=(replace(TVD, means="TVD of the guided model's prediction from the base's"), SAME),
    measures=(
        Measure(
            "tvd",
            "TVD to the base",
            "How far (TVD) the predictions of a model with given attention are from the base's.",
            "A weak model is far from its base under any attention: compare it with a model under uniform attention.",
        ),
        DECISIONS,
    ),
)

ADVERSARIES = Spec(
    id="E7",
    question="Can a model be trained that predicts the same and attends elsewhere?",
    does="Trains an adversary to keep the base's predictions and to change its attention",
    source="Wiegreffe & Pinter 2019; Meister et al. 2021; Yang",
    about="states",
    cost="one training for each λ",
    needs="adversaries",
    about_columns=(
        "Adversaries lie in `adversarial/<name>/` of their base's folder. For taggers, columns are means over tokens; columns "
        "of attention also over heads."
    ),
    columns=(
        TVD,
        SAME,
        Column.nats("jsd", "JSD between the run's attention and the base's"),
        Column.at_least_0("kl", "KL from the run's attention to the base's; undefined where the base's is 0", unit="nats"),
        Column.share("max_attention", "the base's largest weight"),
        Column.nats("jsd_matched", "taggers only: JSD with each head compared with its match in the base"),
        Column.at_least_0("nll", "taggers only: negative log-likelihood of the tags that the base predicts", unit="nats"),
    ),
    measures=(
        Measure.high(
            "jsd",
            "JSD to the base's attention",
            "How differently (JSD) the adversary attends, although it is trained to predict as its base does; at most ln 2.",
            "Another seed has a JSD too (E5): only what exceeds that JSD is due to the adversary.",
        ),
        Measure.high(
            "jsd_matched",
            "JSD to the base's attention, heads matched",
            "The same JSD, with each head compared with its match in the base.",
            "The plain JSD grows if two heads change places, although the model then computes the same.",
        ),
        Measure.high(
            "kl",
            "KL to the base's attention",
            "The Kullback-Leibler divergence of attention from the adversary to the base.",
            "KL has no upper bound, and single tokens without attention dominate it.",
        ),
        Measure(
            "tvd",
            "TVD to the base's predictions",
            "How far (TVD) the adversary's predictions are from the base's, 0 to 1: the cost of the other attention.",
            "A small mean can hide texts where the two decide differently.",
        ),
        Measure(
            "nll",
            "NLL of the base's tags",
            "Negative log-likelihood of the base's tags, in nats per token: the cost of the other attention.",
            "NLL has no upper bound: compare it with the base's own NLL.",
        ),
        replace(DECISIONS, misread="Any model of the same accuracy decides most texts alike."),
    ),
)

SPECS = (UNIFORM, SEEDS, GUIDES, ADVERSARIES)
