"""The specs of E4 to E7, which compare trained runs with one another.

E4: is uniform attention as good? E5: how far apart is attention when only the seed differs? E6: does a run's attention help a
model that must use it? E7: can a model be trained that predicts the same and attends elsewhere? ``adversarial_loss.py``
has the loss of E7. (Wiegreffe & Pinter 2019; Meister et al. 2021; Yang.)
"""

from dataclasses import replace

from attest.experiments.says import MISLEADING, OTHER_MODELS
from attest.experiments.spec import Column, Means, Spec

SAME = Column.yes_or_no(
    "same",
    "Share of texts (for taggers: of tokens) for which this run and the base run decide alike.",
    type="bool",
    title="decisions as in the base run",
    misread="Most texts are easy to decide: compare with how often a model with uniform attention decides like the base run.",
)


def _answer_of_adversaries(mean: Means) -> str | None:
    apart, same = mean.number("E7/jsd"), mean.share("E7/same")
    if apart is None or same is None:
        return None
    units = "tokens" if mean.called == "sentences" else mean.called
    return (
        f"This model decides like its base in {same} of {units}; the JSD between their attention is {apart}, of at most 0.693."
    )


ONLY_STABLE = "A small JSD shows that training is stable, not that attention explains."

UNIFORM = Spec(
    id="E4",
    name="uniform attention",
    place=0,  # it says whether anything below means something
    question="Does the task need attention at all?",
    does="Trains the same model with uniform attention, and compares both text by text",
    source="Wiegreffe & Pinter 2019",
    about="predictions",
    cost="one training",
    says=OTHER_MODELS,
    needs="controls",
)

SEEDS = Spec(
    id="E5",
    name="other seeds",
    question="How far apart is attention when only the seed differs?",
    does="Trains the same model with other seeds",
    source="Wiegreffe & Pinter 2019",
    about="states",
    cost="one training for each seed",
    says=OTHER_MODELS,
    needs="controls",
    about_columns=(
        "Controls in `controls/evidence/` of the base's folder have the columns of E7 for each seed, such as `jsd/seed 1`, "
        "and their means over seeds, such as `jsd`."
    ),
    columns=(
        Column.nats(
            "jsd",
            "Distance (JSD) between the attention of two models that differ only in the seed: the baseline for all other "
            "distances.",
            title="JSD between seeds",
            misread=ONLY_STABLE,
            suspicious="high",
        ),
        Column.nats(
            "jsd_matched",
            "The JSD of attention if each head is compared with its best match in the model of the other seed. Heads of a "
            "layer have no fixed order.",
            only="taggers",
            title="JSD between the attention of two seeds, best-matching heads",
            misread=ONLY_STABLE,
            suspicious="high",
        ),
    ),
)

GUIDES = Spec(
    id="E6",
    name="guided models",
    question="Does another run's attention help a model that must use it?",
    does="Trains a model without context under a given attention",
    source="Wiegreffe & Pinter 2019; Yang",
    about="states",
    cost="one training",
    says=OTHER_MODELS,
    needs="controls",
    about_columns="Guided runs in `guides/<name>/` of their base's folder have the columns of E7.",
    columns=(
        Column.share(
            "tvd",
            "Distance (TVD) between the predictions of the base run and of a model that must use given attention weights.",
            title="TVD from the base run's predictions",
            misread="A weak model has a large TVD from the base run with any attention: compare with the TVD of a model with "
            "uniform attention.",
        ),
        SAME,
    ),
)

ADVERSARIES = Spec(
    id="E7",
    name="trained adversaries",
    question="Can a model be trained that predicts the same and attends elsewhere?",
    does="Trains an adversary to keep the base's predictions and to change its attention",
    source="Wiegreffe & Pinter 2019; Meister et al. 2021; Yang",
    about="states",
    cost="one training for each λ",
    says=MISLEADING,
    needs="adversaries",
    answer=_answer_of_adversaries,
    about_columns=(
        "Adversaries lie in `adversarial/<name>/` of their base's folder. For taggers, columns are means over tokens; columns "
        "of attention also over heads."
    ),
    columns=(
        Column.nats(
            "jsd",
            "Distance (JSD) between the attention of the adversary and of the base run; at most ln 2 = 0.693. It misleads "
            "only where both decide alike.",
            title="JSD from the base run's attention",
            misread="Models that differ only in the seed also differ in attention (E5): only a JSD above the JSD between "
            "seeds is due to the adversary.",
            suspicious="high",
        ),
        Column.nats(
            "jsd_matched",
            "The JSD of attention if each head is compared with its best match in the base run.",
            only="taggers",
            title="JSD from the base run's attention, best-matching heads",
            misread="If heads were not matched, the JSD of attention would grow when two heads swap places, although the "
            "model would predict the same.",
            suspicious="high",
        ),
        Column.at_least_0(
            "kl",
            "The Kullback-Leibler divergence of the adversary's attention from the base run's attention; undefined if the "
            "base run gives a token no attention.",
            unit="nats",
            title="KL divergence from the base run's attention",
            misread="The KL divergence has no upper bound: one token with almost no attention in the base run may dominate "
            "it.",
            suspicious="high",
        ),
        Column.at_least_0(
            "kl_mean",
            "The KL divergence of a row of attention, divided by the number of tokens that the row may attend to: the scale "
            "that Yang 2020 may use. It is undefined where the KL divergence is.",
            unit="nats per token",
            title="KL divergence from the base run's attention, mean over entries",
            misread="The same change of attention has a smaller mean in a longer text: compare means over entries only on "
            "the same texts.",
            suspicious="high",
        ),
        Column.correlation(
            "tau",
            "Kendall's τ-b of the two attentions: 1 if they rank the tokens alike, 0 if the rankings are unrelated. For "
            "taggers it is the mean over the rows of all heads. Rows in which one of the two gives all tokens the same "
            "weight are left out.",
            title="τ between the rankings of this run's and of the base run's attention",
            misread="Attention can move far without another ranking, and small weights can change places although little "
            "attention moves: compare with the JSD.",
            suspicious="low",
        ),
        Column.share(
            "tvd",
            "Distance (TVD, 0 to 1) between the predictions of the adversary and of the base run.",
            title="TVD from the base run's predictions",
            misread="A small mean TVD can hide texts on which the adversary decides differently from the base run.",
        ),
        Column.at_least_0(
            "nll",
            "Negative log-likelihood, under the adversary, of the tags that the base run predicts, in nats per token.",
            unit="nats",
            only="taggers",
            title="NLL of the base run's tags",
            misread="The adversary's NLL has no upper bound: compare it with the NLL of the same tags under the base run.",
        ),
        replace(SAME, misread="Any model of the same accuracy decides most texts alike."),
        Column.share("max_attention", "the largest weight of the base run's attention"),
    ),
)

SPECS = (UNIFORM, SEEDS, GUIDES, ADVERSARIES)
