"""E7: can a model be trained that predicts the same and attends elsewhere? (Wiegreffe & Pinter 2019; Meister et al.; Yang.)

Its loss stands in ``adversarial_loss.py``; runs are compared, so there is nothing to run on one network.
"""

from attest.experiments.spec import AT_LEAST_0, NATS, SHARE, Column, Measure, Spec

SPEC = Spec(
    id="E7",
    question="Can a model be trained that predicts the same and attends elsewhere?",
    does="An adversary trained to keep the base's predictions and to leave its attention",
    source="Wiegreffe & Pinter 2019; Meister et al. 2021; Yang",
    about="states",
    cost="a training a λ",
    needs="adversaries",
    about_columns="Adversaries, in `adversarial/<name>/` of their base's folder. Of taggers all are means over tokens, of "
    "attention over heads too.",
    columns=(
        Column("tvd", "float", SHARE, "", "TVD of the run's prediction to the base's"),
        Column("same", "bool", SHARE, "0 or 1", "whether both decide alike; of taggers the share of tokens, a float"),
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
            "taggers alone: JSD with each head beside the head of the base that it stands for: of the same layer, by the "
            "matching whose mean over the corpus is smallest",
        ),
        Column(
            "nll", "float", AT_LEAST_0, "nats", "taggers alone: negative log-likelihood of the tags that the base predicts"
        ),
    ),
    measures=(
        Measure(
            "jsd",
            "JSD to the base's attention",
            "How differently this run attends, trained to predict as its base does; ln 2 = 0.693 is the most.",
            "Only what exceeds the JSD between seeds (E5) was gained by trying.",
            suspicious="high",
        ),
        Measure(
            "jsd_matched",
            "JSD to the base's attention, heads matched",
            "The same with each head beside the one of the base that it stands for.",
            "What the plain one has above this was gained by exchanging heads, which changes nothing.",
            suspicious="high",
        ),
        Measure(
            "kl",
            "KL to the base's attention",
            "The same as Kullback-Leibler divergence, from the adversary to the base.",
            "It has no upper end, and single tokens without attention decide it.",
            suspicious="high",
        ),
        Measure(
            "tvd",
            "TVD to the base's predictions",
            "What the other attention costs: how far the predictions have moved, 0 to 1.",
            "A small mean can hide texts on which the two decide differently.",
        ),
        Measure(
            "nll",
            "NLL of the base's tags",
            "What the other attention costs, in nats a token.",
            "It has no upper end: compare with the base's own.",
        ),
        Measure(
            "same",
            "decisions as the base's",
            "Share of texts, of taggers of tokens, that are decided as the base decides.",
            "Another model of the same accuracy also decides most texts alike.",
        ),
    ),
)
