from datetime import UTC, datetime, timedelta

import orjson

from bench.profile.audit import requests

AT = datetime(2026, 1, 2, tzinfo=UTC)
OURS = "system:serviceaccount:appwrapper-system:appwrapper-controller"


def event(user: str, verb: str, resource: str, subresource: str = "", after: float = 0.0) -> bytes:
    target = {"resource": resource} | ({"subresource": subresource} if subresource else {})
    return orjson.dumps(
        {
            "requestReceivedTimestamp": (AT + timedelta(seconds=after)).isoformat(),
            "user": {"username": user},
            "verb": verb,
            **({"objectRef": target} if resource else {}),
        }
    )


def test_requests_are_counted_by_sender_verb_and_resource() -> None:
    lines = [
        event(OURS, "update", "appwrappers", "status"),
        event(OURS, "update", "appwrappers", "status"),
        event("system:kube-scheduler", "create", "pods", "binding"),
        event("localcluster-admin", "create", "appwrappers"),
    ]
    assert requests(lines, AT, AT) == {
        "appwrapper-controller: update appwrappers/status": 2,
        "kube-scheduler: create pods/binding": 1,
        "the benchmark: create appwrappers": 1,
    }


def test_watches_leases_other_paths_and_other_times_do_not_count() -> None:
    lines = [
        event(OURS, "watch", "pods"),
        event(OURS, "update", "leases"),
        event("localcluster-admin", "get", ""),
        event(OURS, "get", "jobs", after=-1.0),
        event(OURS, "get", "jobs", after=1.0),
    ]
    assert not requests(lines, AT, AT)
