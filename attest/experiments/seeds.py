"""E5: how far apart is attention when only the seed differs? (Wiegreffe & Pinter 2019.) Runs are compared."""

from attest.experiments.spec import NATS, Column, Measure, Spec

SPEC = Spec(
    id="E5",
    question="How far apart is attention when only the seed differs?",
    does="The same model trained with other seeds",
    source="Wiegreffe & Pinter 2019",
    about="states",
    cost="a training a seed",
    needs="controls",
    about_columns="Of the controls, in `controls/evidence/` of the base's folder: the columns of E7, one set a seed, "
    "`jsd/seed 1` and the like, and their means over seeds, without a slash.",
    columns=(
        Column("jsd", "float", NATS, "nats", "JSD of the attention to that of the other seeds"),
        Column("jsd_matched", "float", NATS, "nats", "taggers alone: the same with heads matched"),
    ),
    measures=(
        Measure(
            "jsd",
            "JSD between seeds",
            "How far apart attention is when nothing but the seed differs: the noise floor of every other difference.",
            "A small one says that training is stable, not that attention explains.",
            suspicious="high",
        ),
        Measure(
            "jsd_matched",
            "JSD between seeds, heads matched",
            "The same with each head beside the one of the other seed that it stands for: heads of a layer have no order.",
            "A small one says that training is stable, not that attention explains.",
            suspicious="high",
        ),
    ),
)
