"""`explain` of an AppWrapper that is being deleted."""

from cli.explaining.compose import explain
from shared.api.names import FINALIZER
from tests.support.builders.explained.objects import ago
from tests.support.explain_captures import SITUATIONS


def test_the_deletion_of_one_that_never_started_names_no_pods() -> None:
    seen = SITUATIONS["never-fits"]()
    seen.appwrapper["metadata"] |= {"deletionTimestamp": ago(5), "finalizers": [FINALIZER]}
    assert explain(seen).answer == (
        "train is being deleted: it never started, so it has no pods; then the AppWrapper itself is"
        " removed."
    )
