"""E5: how far apart is attention when only the seed differs? (Wiegreffe & Pinter 2019.) Runs are compared."""

from attest.experiments.spec import NATS, Column, Measure, Spec

SPEC = Spec(
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
        Column("jsd", "float", NATS, "nats", "JSD of the attention to that of the other seeds"),
        Column("jsd_matched", "float", NATS, "nats", "taggers only: the same with heads matched"),
    ),
    measures=(
        Measure(
            "jsd",
            "JSD between seeds",
            "How far apart attention is when only the seed differs: the noise floor of every other difference.",
            "A small one shows that training is stable, not that attention explains.",
            suspicious="high",
        ),
        Measure(
            "jsd_matched",
            "JSD between seeds, heads matched",
            "The same with each head compared with its match in the other seed: heads of a layer have no order.",
            "A small one shows that training is stable, not that attention explains.",
            suspicious="high",
        ),
    ),
)
