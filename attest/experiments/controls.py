"""E4 to E7 compare trained runs, so there is nothing to run on one network: only what their numbers mean stands here.

E4: is uniform attention as good? E5: how far apart is attention when only the seed differs? E6: does a run's attention help a
model that must use it? E7: can a model be trained that predicts the same and attends elsewhere? ``adversarial_loss.py``
has the loss of E7. (Wiegreffe & Pinter 2019; Meister et al. 2021; Yang.)
"""

from dataclasses import replace

from attest.experiments.spec import AT_LEAST_0, NATS, SHARE, Column, Measure, Spec

TVD = Column("tvd", SHARE, "TVD of the run's prediction to the base's")
SAME = Column("same", SHARE, "whether both decide alike; for taggers the share of tokens, a float", unit="0 or 1", type="bool")
ONLY_STABLE = "A small one shows that training is stable, not that attention explains."

UNIFORM = Spec(
    id="E4",
    place=0,  # it says whether anything below means something
    question="Does the task need attention at all?",
    does="The same model trained with uniform attention, compared text by text",
    source="Wiegreffe & Pinter 2019",
    about="predictions",
    cost="one training",
    needs="controls",
)

SEEDS = Spec(
    id="E5",
    question="How far apart is attention when only the seed differs?",
    does="The same model trained with other seeds",
    source="Wiegreffe & Pinter 2019",
    about="states",
    cost="one training for each seed",
    needs="controls",
    about_columns=(
        "Controls in `controls/evidence/` of the base's folder have the columns of E7: one set for each seed, such as "
        "`jsd/seed 1`, and means over seeds, without a slash."
    ),
    columns=(
        Column("jsd", NATS, "JSD of the attention to that of the other seeds", unit="nats"),
        Column("jsd_matched", NATS, "taggers only: the same with heads matched", unit="nats"),
    ),
    measures=(
        Measure(
            "jsd",
            "JSD between seeds",
            "How far apart attention is when only the seed differs: the noise floor of every other difference.",
            ONLY_STABLE,
            suspicious="high",
        ),
        Measure(
            "jsd_matched",
            "JSD between seeds, heads matched",
            "The same with each head compared with its match in the other seed: heads of a layer have no order.",
            ONLY_STABLE,
            suspicious="high",
        ),
    ),
)

GUIDES = Spec(
    id="E6",
    question="Does another run's attention help a model that must use it?",
    does="A model without context is trained with a given attention",
    source="Wiegreffe & Pinter 2019; Yang",
    about="states",
    cost="one training",
    needs="controls",
    about_columns="Guided runs in `guides/<name>/` of their base's folder have the columns of E7.",
    columns=(
        replace(TVD, means="TVD of the guided model's prediction to the base's"),
        SAME,
    ),
    measures=(
        Measure(
            "tvd",
            "TVD to the base",
            "How far the predictions of a model with given attention are from the base's.",
            "A weak model is far from its base under any attention: compare it with a model under uniform attention.",
        ),
        Measure(
            "same",
            "decisions as the base's",
            "Share of texts (for taggers: of tokens) with the base's decision.",
            "Most texts are easy: compare with a model under uniform attention.",
        ),
    ),
)

ADVERSARIES = Spec(
    id="E7",
    question="Can a model be trained that predicts the same and attends elsewhere?",
    does="An adversary trained to keep the base's predictions and to leave its attention",
    source="Wiegreffe & Pinter 2019; Meister et al. 2021; Yang",
    about="states",
    cost="one training for each λ",
    needs="adversaries",
    about_columns=(
        "Adversaries, in `adversarial/<name>/` of their base's folder. For taggers all are means over tokens; those of "
        "attention also over heads."
    ),
    columns=(
        TVD,
        SAME,
        Column("jsd", NATS, "JSD of the run's attention to the base's", unit="nats"),
        Column(
            "kl",
            AT_LEAST_0,
            "KL from the run's attention to the base's; undefined where the base gives 0 to what the run attends to",
            unit="nats",
        ),
        Column("max_attention", SHARE, "the base's largest weight"),
        Column(
            "jsd_matched",
            NATS,
            "taggers only: JSD with each head compared with its match in the base: a head of the same layer, by the "
            "matching with the smallest mean over the corpus",
            unit="nats",
        ),
        Column("nll", AT_LEAST_0, "taggers only: negative log-likelihood of the tags that the base predicts", unit="nats"),
    ),
    measures=(
        Measure(
            "jsd",
            "JSD to the base's attention",
            "How differently this run attends, although it is trained to predict as its base does; at most ln 2 = 0.693.",
            "Another seed gives a JSD too (E5): only what exceeds it is due to the adversary.",
            suspicious="high",
        ),
        Measure(
            "jsd_matched",
            "JSD to the base's attention, heads matched",
            "The same with each head compared with its match in the base.",
            "The plain JSD is larger where heads are exchanged, which changes nothing.",
            suspicious="high",
        ),
        Measure(
            "kl",
            "KL to the base's attention",
            "The same as Kullback-Leibler divergence, from the adversary to the base.",
            "It has no upper bound, and single tokens without attention dominate it.",
            suspicious="high",
        ),
        Measure(
            "tvd",
            "TVD to the base's predictions",
            "What the other attention costs: how far the predictions have moved, 0 to 1.",
            "A small mean can hide texts where the two decide differently.",
        ),
        Measure(
            "nll",
            "NLL of the base's tags",
            "What the other attention costs, in nats for each token.",
            "It has no upper bound: compare with the base's own.",
        ),
        Measure(
            "same",
            "decisions as the base's",
            "Share of texts (for taggers: of tokens) with the base's decision.",
            "Any model of the same accuracy decides most texts alike.",
        ),
    ),
)

SPECS = (UNIFORM, SEEDS, GUIDES, ADVERSARIES)
