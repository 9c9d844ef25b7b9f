"""E4: is uniform attention as good? (Wiegreffe & Pinter 2019.) A run is compared with its twin."""

from attest.experiments.spec import Spec

SPEC = Spec(
    id="E4",
    place=0,  # it says whether anything below means something
    question="Does the task need attention at all?",
    does="The same model trained with uniform attention, compared text by text",
    source="Wiegreffe & Pinter 2019",
    about="predictions",
    cost="one training",
    needs="controls",
)
