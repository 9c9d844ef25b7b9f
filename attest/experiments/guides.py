"""E6: is a run's attention of use to a model that must attend so? (Wiegreffe & Pinter 2019; Yang.) Runs are compared."""

from attest.experiments.spec import SHARE, Column, Measure, Spec

SPEC = Spec(
    id="E6",
    question="Is another run's attention of use to a model that must attend so?",
    does="A model without context is trained with its attention given",
    source="Wiegreffe & Pinter 2019; Yang",
    about="states",
    cost="a training",
    needs="controls",
    about_columns="Of guided runs, in `guides/<name>/` of their base's folder: the columns of E7.",
    columns=(
        Column("tvd", "float", SHARE, "", "TVD of the guided model's prediction to the base's"),
        Column("same", "bool", SHARE, "0 or 1", "whether both decide alike; of taggers the share of tokens, a float"),
    ),
    measures=(
        Measure(
            "tvd",
            "TVD to the base",
            "How far the predictions of a model whose attention is given are from the base's.",
            "A weak model moves far whatever it is given: compare with one that is given uniform attention.",
        ),
        Measure(
            "same",
            "decisions as the base's",
            "Share of texts, of taggers of tokens, that are decided as the base decides.",
            "Most texts are easy: compare with one that is given uniform attention.",
        ),
    ),
)
