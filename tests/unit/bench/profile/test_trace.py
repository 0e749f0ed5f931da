from datetime import UTC, datetime, timedelta

import orjson

from bench.profile.trace import labelled, per_life, records, timeline
from shared.api.objects import JsonObject

AT = datetime(2026, 1, 2, tzinfo=UTC)
STATUS = "/apis/workload.codeflare.dev/v1beta2/namespaces/bench/appwrappers/a/status"


def sent(verb: str, path: str, after: float = 0.0, **more: object) -> JsonObject:
    return {
        "program": "controller", "at": AT.timestamp() + after, "seconds": 0.25, "verb": verb,
        "path": path, "function": "Applier._write", "phase": "", "detail": {}, "sent": 10,
        "received": 100, "code": 200,
    } | more  # fmt: skip


def watched(resource: str, kind: str, after: float = 0.0) -> JsonObject:
    at = AT.timestamp() + after
    named = {"verb": "WATCH", "path": resource, "type": kind, "received": 50}
    return {"program": "controller", "at": at} | named


def status(phase: str, **conditions: str) -> JsonObject:
    return {"phase": phase, "conditions": conditions}


def labels(*found: JsonObject) -> list[str]:
    return [label for label, _ in labelled(found)]


def test_a_request_is_named_by_its_resource_function_and_phase() -> None:
    assert labels(
        sent("GET", "/api/v1/namespaces/bench/pods", phase="Running"),
        sent("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", program="webhook"),
        sent("GET", "/apis/batch/v1/namespaces/bench/jobs/a", code=404),
        sent("POST", "/api/v1/namespaces/bench/events", detail={"reason": "Resuming"}),
        watched("pods", "ADDED"),
    ) == [
        "controller LIST pods: Applier._write in Running",
        "webhook POST subjectaccessreviews: Applier._write",
        "controller GET jobs answered 404: Applier._write",
        "controller POST events (Resuming): Applier._write",
        "controller WATCH pods ADDED",
    ]


def test_a_status_write_is_named_by_its_change() -> None:
    other = STATUS.replace("/a/", "/b/")
    assert labels(
        sent("PUT", STATUS, detail=status("Resuming", A="True/x")),
        sent("PUT", STATUS, detail=status("Running", A="True/x", B="False/y")),
        sent("PUT", STATUS, detail=status("Running", A="True/z", B="False/y")),
        sent("PUT", STATUS, detail=status("Running", A="True/z", B="False/y")),
        sent("PUT", other, detail=status("Running", A="True/z")),
    ) == [
        f"controller PUT appwrappers/status ({change}): Applier._write"
        for change in ("to Resuming; A", "to Running; B", "A", "nothing visible", "to Running; A")
    ]


def test_only_records_of_the_window_count_and_neither_leases_nor_bookmarks() -> None:
    lease = "/apis/coordination.k8s.io/v1/namespaces/s/leases/l"
    found = [
        sent("GET", "/api/v1/pods", 2.0),
        sent("GET", "/api/v1/pods", 1.0),
        sent("GET", "/api/v1/pods", 3.5),
        sent("PUT", lease, 1.0),
        watched("pods", "BOOKMARK", 1.0),
    ]
    lines = [orjson.dumps(each) for each in found]
    assert records(lines, AT, AT + timedelta(seconds=3)) == [found[1], found[0]]


def test_a_timeline_has_each_request_and_the_events_between() -> None:
    found = [
        watched("pods", "ADDED", 0.5),
        watched("jobs", "ADDED", 0.6),
        watched("pods", "ADDED", 0.7),
        sent("PUT", STATUS, 1.0),
    ]
    table = timeline(found, "One", AT)
    assert [(label, list(values)) for label, values in table.rows] == [
        ("controller WATCH pods ADDED x2, jobs ADDED", [500.0, 0.0, 0, 150]),
        ("controller PUT appwrappers/status: Applier._write", [1_000.0, 250.0, 10, 100]),
    ]


def test_requests_and_events_are_averaged_over_lives() -> None:
    found = [sent("PUT", STATUS), sent("PUT", STATUS), watched("pods", "ADDED")]
    table = per_life(found, "Per life", 2)
    assert table.rows == [
        ("controller PUT appwrappers/status: Applier._write", [1.0, 10.0, 100.0, 250.0]),
        ("controller WATCH pods ADDED", [0.5, 0.0, 25.0, 0.0]),
    ]
    assert table.notes[0].startswith("Together 1.0 requests, 0.5 watch events, 0 KB received.")
