"""E6: does a run's attention help a model that must use it? (Wiegreffe & Pinter 2019; Yang.) Runs are compared."""

from attest.experiments.spec import SHARE, Column, Measure, Spec

SPEC = Spec(
    id="E6",
    question="Does another run's attention help a model that must use it?",
    does="A model without context is trained with a given attention",
    source="Wiegreffe & Pinter 2019; Yang",
    about="states",
    cost="one training",
    needs="controls",
    about_columns="Guided runs in `guides/<name>/` of their base's folder have the columns of E7.",
    columns=(
        Column("tvd", "float", SHARE, "", "TVD of the guided model's prediction to the base's"),
        Column("same", "bool", SHARE, "0 or 1", "whether both decide alike; for taggers the share of tokens, a float"),
    ),
    measures=(
        Measure(
            "tvd",
            "TVD to the base",
            "How far the predictions of a model with given attention are from the base's.",
            "A weak model is far away under any attention: compare with one under uniform attention.",
        ),
        Measure(
            "same",
            "decisions as the base's",
            "Share of texts (for taggers: of tokens) with the base's decision.",
            "Most texts are easy: compare with a model under uniform attention.",
        ),
    ),
)
