import orjson
import pytest

from shared.api.objects import APPWRAPPERS, NODES, PODS
from shared.kube import requests
from shared.kube.client import Invalid, PatchType, Propagation
from shared.kube.requests import Request

JSON = {"Accept": "application/json"}
JSON_BOTH = {"Accept": "application/json", "Content-Type": "application/json"}
METADATA = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
METADATA_LIST = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
WRAPPER_PATH = "/apis/workload.codeflare.dev/v1beta2/namespaces/team1/appwrappers/a"


def test_get_names_no_resource_version() -> None:
    assert requests.get(PODS, "team1", "p") == Request(
        "GET", "/api/v1/namespaces/team1/pods/p", JSON
    )


def test_get_of_metadata_alone_asks_for_it() -> None:
    assert requests.get(PODS, "team1", "p", metadata_only=True).headers == METADATA


def test_a_cluster_wide_object_needs_no_namespace() -> None:
    assert requests.get(NODES, None, "n").target == "/api/v1/nodes/n"


def test_list_is_paged_and_never_from_version_0() -> None:
    assert requests.list_page(
        PODS,
        None,
        label_selector="a in (b,c),!d",
        field_selector="spec.nodeName=n",
        page_size=7,
        continue_token="x=/+",
    ) == Request(
        "GET",
        "/api/v1/pods?limit=7&labelSelector=a+in+%28b%2Cc%29%2C%21d"
        "&fieldSelector=spec.nodeName%3Dn&continue=x%3D%2F%2B",
        JSON,
    )


def test_the_first_page_of_a_plain_list() -> None:
    assert requests.list_page(PODS, "team1", metadata_only=True) == Request(
        "GET", "/api/v1/namespaces/team1/pods?limit=500", METADATA_LIST
    )


def test_watch_asks_for_bookmarks_and_for_an_end() -> None:
    assert requests.watch(
        PODS,
        None,
        resource_version="5",
        timeout_seconds=300,
        label_selector="x",
        field_selector="metadata.name=a",
    ) == Request(
        "GET",
        "/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=5"
        "&timeoutSeconds=300&labelSelector=x&fieldSelector=metadata.name%3Da",
        JSON,
    )


@pytest.mark.parametrize("version", ["", "0"])
def test_a_watch_from_nowhere_is_a_bug(version: str) -> None:
    with pytest.raises(ValueError, match="starts at the resourceVersion of a list"):
        requests.watch(PODS, None, resource_version=version, timeout_seconds=1)


def test_a_log_has_the_time_of_each_line() -> None:
    path = "/api/v1/namespaces/ns/pods/p/log?container=main&timestamps=true"
    accept = {"Accept": "application/json, */*"}
    assert requests.pod_log("ns", "p", "main") == Request("GET", path, accept)
    followed = requests.pod_log(
        "ns", "p", "main", follow=True, tail=0, since="2026-03-02T14:00:00.5Z", since_seconds=60
    )
    assert followed.target == (
        f"{path}&follow=true&tailLines=0&sinceTime=2026-03-02T14%3A00%3A00.5Z&sinceSeconds=60"
    )


def test_create() -> None:
    assert requests.create(PODS, "team1", {"a": 1}) == Request(
        "POST", "/api/v1/namespaces/team1/pods", JSON_BOTH, b'{"a":1}'
    )


def test_dry_run_of_a_create() -> None:
    target = requests.create(PODS, "team1", {}, dry_run=True).target
    assert target == "/api/v1/namespaces/team1/pods?dryRun=All"


def test_a_strict_dry_run() -> None:
    asked = "dryRun=All&fieldValidation=Strict"
    made = requests.create(PODS, "team1", {}, dry_run=True, strict=True)
    assert made.target == f"/api/v1/namespaces/team1/pods?{asked}"
    replaced = requests.update(PODS, "team1", "p", {}, dry_run=True, strict=True)
    assert replaced.target == f"/api/v1/namespaces/team1/pods/p?{asked}"


def test_create_without_a_namespace_is_a_bug() -> None:
    with pytest.raises(ValueError, match="creating a Pod needs a namespace"):
        requests.create(PODS, None, {})


def test_update_of_a_subresource() -> None:
    assert requests.update(APPWRAPPERS, "team1", "a", {}, subresource="status") == Request(
        "PUT", f"{WRAPPER_PATH}/status", JSON_BOTH, b"{}"
    )


def test_merge_patch() -> None:
    assert requests.patch(APPWRAPPERS, "team1", "a", {}, PatchType.MERGE) == Request(
        "PATCH",
        WRAPPER_PATH,
        {"Accept": "application/json", "Content-Type": "application/merge-patch+json"},
        b"{}",
    )


def test_forced_apply() -> None:
    request = requests.patch(
        APPWRAPPERS, "team1", "a", {}, PatchType.APPLY, field_manager="me", force=True
    )
    assert request.target == f"{WRAPPER_PATH}?fieldManager=me&force=true"
    assert request.headers["Content-Type"] == "application/apply-patch+yaml"


def test_apply_without_a_manager_is_a_bug() -> None:
    with pytest.raises(ValueError, match="needs a field manager"):
        requests.patch(APPWRAPPERS, "team1", "a", {}, PatchType.APPLY)


def test_only_an_apply_can_be_forced() -> None:
    with pytest.raises(ValueError, match="only a server-side apply"):
        requests.patch(APPWRAPPERS, "team1", "a", {}, PatchType.MERGE, force=True)


def delete_options(grace: int | None, uid: str | None) -> dict[str, object]:
    request = requests.delete(
        PODS, "team1", "p", uid=uid, propagation=Propagation.FOREGROUND, grace_period_seconds=grace
    )
    assert (request.method, request.target) == ("DELETE", "/api/v1/namespaces/team1/pods/p")
    assert request.body is not None
    sent: dict[str, object] = orjson.loads(request.body)
    return sent


DELETE = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground"}


@pytest.mark.parametrize(
    ("grace", "uid", "options"),
    [
        pytest.param(None, None, DELETE, id="neither is sent when not given"),
        pytest.param(
            0,
            "u",
            {**DELETE, "gracePeriodSeconds": 0, "preconditions": {"uid": "u"}},
            id="a grace period of 0 is sent as 0",
        ),
        pytest.param(30, None, {**DELETE, "gracePeriodSeconds": 30}, id="another is sent as it is"),
    ],
)
def test_delete(grace: int | None, uid: str | None, options: dict[str, object]) -> None:
    assert delete_options(grace, uid) == options


def test_deleting_an_empty_name_would_empty_the_namespace() -> None:
    with pytest.raises(ValueError, match="an empty name"):
        requests.delete(PODS, "team1", "", uid=None, propagation=Propagation.BACKGROUND)


@pytest.mark.parametrize("name", [".", "..", "a/b", "a%2fb"])
def test_a_name_that_would_address_something_else_is_invalid(name: str) -> None:
    with pytest.raises(Invalid) as raised:
        requests.get(PODS, "team1", name)
    assert raised.value == Invalid(
        422,
        "Invalid",
        f"metadata.name: Invalid value: {name!r}: "
        "may not be '.' or '..' and may not contain '/' or '%'",
    )


def test_odd_names_are_quoted() -> None:
    assert requests.get(NODES, None, "a:b c?d").target == "/api/v1/nodes/a:b%20c%3Fd"


def test_an_object_of_a_namespaced_kind_needs_its_namespace() -> None:
    with pytest.raises(ValueError, match="a Pod has a namespace; none was given for 'p'"):
        requests.get(PODS, None, "p")


def test_reviews_and_discovery() -> None:
    assert requests.post("/apis/x/v1/reviews", {}) == Request(
        "POST", "/apis/x/v1/reviews", JSON_BOTH, b"{}"
    )
    assert requests.get_path("/version") == Request("GET", "/version", JSON)


def test_only_reads_may_be_sent_twice() -> None:
    assert requests.get_path("/version").idempotent
    assert not requests.post("/x", {}).idempotent


def test_an_object_that_cannot_be_encoded_is_invalid() -> None:
    """Its user nested it that deep; trying again will not help."""
    nested: object = 1
    for _ in range(300):
        nested = [nested]
    with pytest.raises(Invalid) as raised:
        requests.create(PODS, "team1", {"spec": nested})
    assert raised.value == Invalid(
        422, "Invalid", "the object cannot be written as JSON: Recursion limit reached"
    )
