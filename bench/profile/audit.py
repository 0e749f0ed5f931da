"""Counts the requests of all programs, from the API server's audit log. Pure."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

import orjson

from shared.api.objects import JsonObject

# Every request once, when it ends, without bodies.
POLICY: JsonObject = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [{"level": "Metadata"}],
}
_ADMINISTRATOR = "localcluster-admin"


def requests(lines: Iterable[bytes], began: datetime, ended: datetime) -> Counter[str]:
    """Counts requests in this time by `sender: verb resource`.

    Watches, leases, and requests that are about no resource (the profile's own) do not count.
    """
    counted: Counter[str] = Counter()
    for line in lines:
        event = orjson.loads(line)
        at = datetime.fromisoformat(event["requestReceivedTimestamp"])
        target = event.get("objectRef") or {}
        resource = target.get("resource", "")
        if began <= at <= ended and event["verb"] != "watch" and resource not in ("", "leases"):
            named = "/".join(filter(None, (resource, target.get("subresource", ""))))
            counted[f"{_sender(event)}: {event['verb']} {named}"] += 1
    return counted


def _sender(event: JsonObject) -> str:
    """Returns the last part of a ServiceAccount's or user's name."""
    user = str(event["user"]["username"]).rpartition(":")[2]
    return "the benchmark" if user == _ADMINISTRATOR else user
