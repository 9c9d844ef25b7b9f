"""E7: can a model be trained that predicts the same and attends elsewhere? (Wiegreffe & Pinter 2019; Meister et al.; Yang.)

``adversarial_loss.py`` has its loss. It compares runs, so there is nothing to run on one network.
"""

from attest.experiments.spec import AT_LEAST_0, NATS, SHARE, Column, Measure, Spec

SPEC = Spec(
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
        Column("tvd", "float", SHARE, "", "TVD of the run's prediction to the base's"),
        Column("same", "bool", SHARE, "0 or 1", "whether both decide alike; for taggers the share of tokens, a float"),
        Column("jsd", "float", NATS, "nats", "JSD of the run's attention to the base's"),
        Column(
            "kl",
            "float",
            AT_LEAST_0,
            "nats",
            "KL from the run's attention to the base's; undefined where the base gives 0 to what the run attends to",
        ),
        Column("max_attention", "float", SHARE, "", "the base's largest weight"),
        Column(
            "jsd_matched",
            "float",
            NATS,
            "nats",
            "taggers only: JSD with each head compared with its match in the base: a head of the same layer, by the "
            "matching with the smallest mean over the corpus",
        ),
        Column("nll", "float", AT_LEAST_0, "nats", "taggers only: negative log-likelihood of the tags that the base predicts"),
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
