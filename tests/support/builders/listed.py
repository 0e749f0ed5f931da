"""Builds rows of `appwrapper list`, and the cluster that shows them."""

from decimal import Decimal
from typing import Any

from cli.listing.rows import ListedAppWrapper
from shared.api.objects import JsonObject
from tests.support.builders.explained import deployed, ending, waiting
from tests.support.builders.explained.objects import NOW
from tests.support.fakes.served_objects import ServedObjects

VISIBILITY = "/apis/visibility.kueue.x-k8s.io"
PLACES = f"{VISIBILITY}/v1beta2/namespaces/team1/localqueues/default-queue/pendingworkloads"
REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
USER = "workload.codeflare.dev/user"
SUBMITTED_BY = "workload.codeflare.dev/submitted-by"


def made(name: str, **fields: Any) -> ListedAppWrapper:
    """Builds a row."""
    known: dict[str, Any] = {
        "namespace": "team1",
        "user": "",
        "status": "Suspended",
        "gpus": Decimal(0),
        "priority": None,
        "priority_class": None,
        "queue": "",
        "position": None,
        "created": NOW,
        "attempt": 0,
        "retries": 0,
        "why": "",
    }
    return ListedAppWrapper(name=name, **{**known, **fields})


def called(item: JsonObject, name: str, user: str) -> JsonObject:
    """Gives the AppWrapper a name, a UID and a user."""
    metadata = item["metadata"]
    metadata["name"], metadata["uid"] = name, f"uid-of-{name}"
    metadata["labels"][USER] = user.replace("@", "_")
    metadata["annotations"][SUBMITTED_BY] = user
    return item


def three_appwrappers() -> ServedObjects:
    """Builds a cluster: `runs` and `failed` of alice@x, `waits` of alice_x, in the same label."""
    seen = waiting.waits_for_quota()
    runs = called(deployed.runs().appwrapper, "runs", "alice@x")
    waits = called(seen.appwrapper, "waits", "alice_x")
    failed = called(ending.failed().appwrapper, "failed", "alice@x")
    workloads = seen.world.own_workloads
    assert isinstance(workloads, tuple)
    own = workloads[0]
    own["metadata"]["labels"]["kueue.x-k8s.io/job-uid"] = "uid-of-waits"
    own["metadata"]["ownerReferences"][0]["uid"] = "uid-of-waits"
    place = {"metadata": {"name": own["metadata"]["name"]}, "positionInClusterQueue": 1}
    return ServedObjects(
        {
            "appwrappers": [waits, failed, runs],
            "workloads": [own],
            "configmaps": [],
        },
        paths={
            VISIBILITY: {"preferredVersion": {"version": "v1beta2"}},
            PLACES: {"items": [place]},
            REVIEWS: {"status": {"userInfo": {"username": "alice@x"}}},
        },
    )
