import base64
from typing import Any

import jsonpatch
import pytest

from shared.api.objects import JsonObject
from webhook.tls.certificate_secret import ServiceName, ca_bundles, patch

OURS = ServiceName("appwrapper-system", "appwrapper-webhook-service")
BUNDLE = b"the bundle"


def entry(entry_name: str, bundle: bytes | None = None, **called: Any) -> JsonObject:
    service = {"namespace": OURS.namespace, "name": OURS.name, "path": "/mutate", "port": 443}
    config: JsonObject = {"service": {**service, **called}}
    if bundle is not None:
        config["caBundle"] = base64.b64encode(bundle).decode()
    return {"name": entry_name, "clientConfig": config, "failurePolicy": "Ignore"}


URL = {"name": "by URL", "clientConfig": {"url": "https://elsewhere"}}
THEIRS = entry("theirs", b"theirs", name="another-service")
ELSEWHERE = entry("elsewhere", None, namespace="kueue-system")
MIXED: JsonObject = {
    "metadata": {"name": "shared by many", "resourceVersion": "7"},
    "webhooks": [URL, entry("a"), THEIRS, entry("b", b"drifted"), ELSEWHERE, entry("c", BUNDLE)],
}


def test_only_entries_with_the_products_service_are_changed() -> None:
    assert ca_bundles(MIXED, OURS) == (b"", b"drifted", BUNDLE)


@pytest.mark.parametrize("configuration", [{}, {"webhooks": None}, {"webhooks": [URL, THEIRS]}])
def test_without_own_entries_there_is_no_patch(configuration: JsonObject) -> None:
    assert ca_bundles(configuration, OURS) == ()
    assert patch(configuration, OURS, BUNDLE) == []


def test_a_bundle_that_does_not_decode_counts_as_none() -> None:
    broken = entry("a")
    broken["clientConfig"]["caBundle"] = "%%%"
    assert ca_bundles({"webhooks": [broken]}, OURS) == (b"",)


def test_the_patch_changes_the_bundles_of_our_entries_and_nothing_else() -> None:
    operations = patch(MIXED, OURS, BUNDLE)
    assert [one["path"] for one in operations] == [
        "/metadata/resourceVersion",
        "/webhooks/1/clientConfig/caBundle",
        "/webhooks/3/clientConfig/caBundle",
    ]
    expected = [URL, entry("a", BUNDLE), THEIRS, entry("b", BUNDLE), ELSEWHERE, entry("c", BUNDLE)]
    assert jsonpatch.apply_patch(MIXED, operations) == {**MIXED, "webhooks": expected}


def test_a_correct_bundle_causes_no_patch() -> None:
    assert patch({"webhooks": [entry("c", BUNDLE)]}, OURS, BUNDLE) == []


def test_the_patch_holds_for_the_version_that_was_read() -> None:
    """Another value than the stored one is a Conflict: seen with Kubernetes 1.36."""
    first = {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}
    assert patch(MIXED, OURS, BUNDLE)[0] == first


def test_foreign_changes_of_an_entry_stay() -> None:
    now = entry("a")
    now["failurePolicy"] = "Fail"
    after = jsonpatch.apply_patch(
        {**MIXED, "webhooks": [now]}, patch({**MIXED, "webhooks": [entry("a")]}, OURS, BUNDLE)
    )
    assert after["webhooks"][0]["failurePolicy"] == "Fail"
