"""Our strict decoding of pod templates against the API server's own, and behind it.

`fieldValidation=Strict` with a dry run makes the API server decode a Pod as strictly as Go's
decoder can, and create nothing. What it decodes it may still refuse, in other words.
"""

import copy
from collections.abc import Iterator
from functools import partial
from typing import Any

from localcluster.access.running import RunningCluster
from scripts.pod_schema import SHIPPED, text_of
from shared.kube.client import ApiError, Forbidden, Invalid
from shared.pod_schema.definitions import definitions_of
from shared.pod_schema.pod_schema import LIST_OF, MAP_OF, POD
from tests.support.builders.pod_schema import DEFINITIONS, POD_SCHEMA
from tests.support.cluster.dry_runs import at_once
from tests.support.team import NAMESPACE

STRICTLY = f"/api/v1/namespaces/{NAMESPACE}/pods?dryRun=All&fieldValidation=Strict"


async def test_the_shipped_schema_is_the_api_servers(cluster: RunningCluster) -> None:
    document = await cluster.client.get_path("/openapi/v3/api/v1")
    version = await cluster.client.get_path("/version")
    assert text_of(version, definitions_of(document)) == SHIPPED.read_text(), (
        "run `python -m scripts.pod_schema`"
    )


def pod(spec: Any = None, **fields: Any) -> dict[str, Any]:
    """A Pod that the API server accepts, with `spec` laid over its own."""
    container = {"name": "c", "image": "i"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "strict"},
        "spec": {"containers": [container], **spec} if isinstance(spec, dict) else spec,
        **fields,
    }


def in_container(**fields: Any) -> dict[str, Any]:
    return pod({"containers": [{"name": "c", "image": "i", **fields}]})


def with_metadata(**fields: Any) -> dict[str, Any]:
    return pod({}, metadata={"name": "strict", **fields})


DECODABLE: dict[str, dict[str, Any]] = {
    "nothing special": pod({}),
    "null for an object": pod({"affinity": None, "securityContext": None}),
    "null for a list": pod({"tolerations": None}),
    "null for a string": pod({"nodeName": None}),
    "null for a number": pod({"terminationGracePeriodSeconds": None}),
    "null in a list of strings": in_container(args=["a", None]),
    "null in a list of objects": in_container(env=[None]),
    "null in a map": with_metadata(labels={"a": None}),
    "null for a time": with_metadata(creationTimestamp=None),
    "null for an amount": in_container(resources={"limits": {"cpu": None}}),
    "null for a port": in_container(livenessProbe={"httpGet": {"port": None}}),
    "no containers": {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {}},
    "containers null": pod({"containers": None}),
    "no name of a container": pod({"containers": [{"image": "i"}]}),
    "an enum of our own": pod({"restartPolicy": "Perhaps", "dnsPolicy": "None of yours"}),
    "an amount as a number": in_container(resources={"limits": {"cpu": 0.5, "a.b/c": 8}}),
    "an amount with spaces": in_container(resources={"limits": {"cpu": " 1 "}}),
    "a port by name": in_container(livenessProbe={"httpGet": {"port": "http"}}),
    "a port by number": in_container(livenessProbe={"httpGet": {"port": 80}}),
    "the largest int32": in_container(ports=[{"containerPort": 2**31 - 1}]),
    "the largest int64": pod({"activeDeadlineSeconds": 2**63 - 1}),
    "a time of Go's making": with_metadata(deletionTimestamp="2026-01-31T1:00:00,5Z"),
    "the year nought": with_metadata(deletionTimestamp="0000-02-29T00:00:00+24:60"),
    "a status": pod({}, status={"phase": "Running"}),
    "a field of recent APIs": pod({"resources": {"limits": {"cpu": "1"}}}),
    "an annotation with anything in it": with_metadata(annotations={"a": "\u0000\n"}),
}

UNDECODABLE: dict[str, dict[str, Any]] = {
    "an unknown field": in_container(imagee="i"),
    "an unknown field that is null": in_container(imagee=None),
    "another case": in_container(Image="i"),
    "an unknown field of the Pod": pod({}, spek={}),
    "an unknown field of metadata": with_metadata(label={}),
    "a string for a number": in_container(ports=[{"containerPort": "80"}]),
    "a number for a string": in_container(env=[{"name": "A", "value": 1}]),
    "a boolean for a string": in_container(env=[{"name": "A", "value": True}]),
    "a string for a boolean": pod({"hostNetwork": "true"}),
    "a number for a boolean": pod({"hostNetwork": 1}),
    "1.0 for an integer": pod({"activeDeadlineSeconds": 1.0}),
    "1.5 for an integer": pod({"activeDeadlineSeconds": 1.5}),
    "more than an int32": in_container(ports=[{"containerPort": 2**31}]),
    "less than an int32": in_container(ports=[{"containerPort": -(2**31) - 1}]),
    "more than an int64": pod({"activeDeadlineSeconds": 2**63}),
    "an object for a list": pod({"tolerations": {}}),
    "a list for an object": pod({"affinity": []}),
    "a string for an object": pod({"affinity": ""}),
    "a string for a list": in_container(args="a"),
    "a list for a map": with_metadata(labels=[]),
    "a number in a map": with_metadata(labels={"a": 1}),
    "an object in a list of strings": in_container(args=[{}]),
    "a malformed amount": in_container(resources={"limits": {"memory": "1Gb"}}),
    "a boolean as amount": in_container(resources={"limits": {"memory": True}}),
    "an empty amount": in_container(resources={"limits": {"memory": ""}}),
    "a boolean as port": in_container(livenessProbe={"httpGet": {"port": True}}),
    "1.0 as port": in_container(livenessProbe={"httpGet": {"port": 1.0}}),
    "a large number as port": in_container(livenessProbe={"httpGet": {"port": 2**31}}),
    "no time": with_metadata(creationTimestamp="today"),
    "an empty time": with_metadata(creationTimestamp=""),
    "a day that does not exist": with_metadata(deletionTimestamp="2026-02-29T00:00:00Z"),
    "the spec a string": pod("x"),
    "the spec a list": pod([]),
    "the status a list": pod({}, status=[]),
}


async def decodes(cluster: RunningCluster, manifest: dict[str, Any]) -> bool:
    """Whether the API server can decode it strictly, be it then valid or not."""
    try:
        await cluster.client.post(STRICTLY, manifest)
    except (Invalid, Forbidden):
        return True
    except ApiError as error:
        if "failed calling webhook" in error.message:
            return True  # on a busy machine; webhooks are called with what was decoded
        if not error.message.startswith('Pod in version "v1" cannot be handled as a Pod: '):
            raise
        return False
    return True


async def test_we_accept_what_the_api_server_decodes(cluster: RunningCluster) -> None:
    decoded = await at_once(partial(decodes, cluster, each) for each in DECODABLE.values())
    assert dict(zip(DECODABLE, decoded, strict=True)) == dict.fromkeys(DECODABLE, True)
    mistakes = {what: list(POD_SCHEMA.pod_mistakes(each)) for what, each in DECODABLE.items()}
    assert mistakes == {what: [] for what in DECODABLE}


async def test_we_refuse_what_the_api_server_does_not_decode(cluster: RunningCluster) -> None:
    decoded = await at_once(partial(decodes, cluster, each) for each in UNDECODABLE.values())
    assert dict(zip(UNDECODABLE, decoded, strict=True)) == dict.fromkeys(UNDECODABLE, False)
    counts = {what: len(list(POD_SCHEMA.pod_mistakes(each))) for what, each in UNDECODABLE.items()}
    assert counts == dict.fromkeys(UNDECODABLE, 1)


# Every field of the schema, in one Pod.

VALUES: dict[str, Any] = {
    "string": "x",
    "boolean": True,
    "int32": 1,
    "int64": 1,
    "int-or-string": "x",
    "quantity": "1",
    "time": "2026-01-31T12:00:00Z",
    "anything": {"a": 1},
}


def everything(notation: str) -> Any:
    """A value of this type with all that it can have."""
    if notation.startswith(LIST_OF):
        return [everything(notation.removeprefix(LIST_OF))]
    if notation.startswith(MAP_OF):
        return {"key": everything(notation.removeprefix(MAP_OF))}
    if notation in VALUES:
        return VALUES[notation]
    return {field: everything(of) for field, of in DEFINITIONS[notation].items()}


def whole_pod() -> dict[str, Any]:
    """The API server refuses it only for what it says: it must be a Pod of the right namespace."""
    made: dict[str, Any] = everything(POD)
    made |= {"apiVersion": "v1", "kind": "Pod"}
    made["metadata"] |= {"namespace": NAMESPACE}
    return made


def variants(value: Any) -> Iterator[tuple[str, Any]]:
    """Copies of `value`, each with one value of another JSON type or one more field; and where."""
    if isinstance(value, dict):
        yield "{…}", {**value, "unknown": None}
    if isinstance(value, dict | list):
        for key, child in list(value.items() if isinstance(value, dict) else enumerate(value)):
            for path, wrong in variants(child):
                changed = copy.copy(value)
                changed[key] = wrong
                yield f"[{key!r}]{path}", changed
    yield "", True if not isinstance(value, bool) else "true"


async def test_the_api_server_decodes_every_field_that_we_know(cluster: RunningCluster) -> None:
    whole = whole_pod()
    assert list(POD_SCHEMA.pod_mistakes(whole)) == []
    assert await decodes(cluster, whole)


async def test_we_agree_on_each_value_of_another_type_and_each_unknown_field(
    cluster: RunningCluster,
) -> None:
    """Some 2,000 Pods: both decode it, or both do not."""
    tried = [
        (path, wrong)
        for path, wrong in variants(whole_pod())
        if path not in ("", "['apiVersion']", "['kind']")  # these say what is to be decoded
    ]
    theirs = await at_once(partial(decodes, cluster, wrong) for _, wrong in tried)
    ours = [not list(POD_SCHEMA.pod_mistakes(wrong)) for _, wrong in tried]
    paths = [path for path, _ in tried]
    assert [
        path for path, our, their in zip(paths, ours, theirs, strict=True) if our != their
    ] == []
    assert (ours.count(True) > 20, ours.count(False) > 1000) == (True, True)
