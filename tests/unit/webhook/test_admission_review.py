from base64 import b64decode
from typing import Any

import orjson
import pytest

from tests.support.builders.admission import appwrapper, review
from webhook.admission_review import (
    AdmissionRequest,
    NotAnAdmissionReview,
    Operation,
    UnusableRequest,
    User,
    answer,
    parse_review,
)
from webhook.verdicts import Allowed, Denied, Errored, Patched


def test_a_review_is_read() -> None:
    new, old = appwrapper(labels={"a": "b"}), appwrapper()
    body = orjson.dumps(review(new, old=old, operation="UPDATE", dryRun=True))
    assert parse_review(body) == AdmissionRequest(
        uid="7",
        operation=Operation.UPDATE,
        group_kind="workload.codeflare.dev/AppWrapper",
        subresource="",
        namespace="team1",
        name="job",
        user=User("alice", "42", ("system:authenticated",)),
        object=new,
        old_object=old,
        dry_run=True,
        review_size=len(body),
        review_brackets=body.count(b"{") + body.count(b"["),
    )


def test_further_fields_of_the_user_are_read() -> None:
    info = {"username": "alice", "extra": {"scopes.example.com": ["a", "b"], "none": None}}
    parsed = parse_review(orjson.dumps(review(appwrapper(), userInfo=info)))
    assert parsed.user == User("alice", "", (), {"scopes.example.com": ("a", "b"), "none": ()})


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ([], "request.userInfo.extra is an array, not an object"),
        ({"k": "v"}, "request.userInfo.extra.k is a string, not an array"),
        ({"k": [1]}, "request.userInfo.extra.k[0] is a number, not a string"),
    ],
)
def test_extra_of_another_type_is_not_taken_for_none(extra: Any, message: str) -> None:
    info = {"username": "alice", "extra": extra}
    with pytest.raises(UnusableRequest) as raised:
        parse_review(orjson.dumps(review(appwrapper(), userInfo=info)))
    assert str(raised.value) == message


def test_missing_optional_fields_are_empty() -> None:
    request: dict[str, Any] = {
        "uid": "7",
        "operation": "DELETE",
        "kind": {"kind": "Pod"},
        "userInfo": {"username": "alice", "groups": None},
        "object": None,
        "dryRun": None,
    }
    body = orjson.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    )
    assert parse_review(body) == AdmissionRequest(
        *("7", Operation.DELETE, "Pod", "", "", ""),
        user=User("alice", ""),
        object={},
        old_object=None,
        review_size=len(body),
        review_brackets=4,
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"[]", "the body is not a JSON object"),
        (b"{}", "the body is not an AdmissionReview of admission.k8s.io/v1"),
        (
            b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"}',
            "the body is not an AdmissionReview of admission.k8s.io/v1",
        ),
        (
            b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
            "the AdmissionReview has no request",
        ),
        (
            b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":""}}',
            "the AdmissionReview's request has no uid",
        ),
        (
            b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":7}}',
            "the AdmissionReview's request has no uid",
        ),
        (
            b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":[]}',
            "the AdmissionReview has no request",
        ),
    ],
)
def test_a_malformed_review_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(NotAnAdmissionReview) as error:
        parse_review(body)
    assert str(error.value) == message


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\n",
        b"{",
        b"\xff",
        b'{"a": "\xed\xa0\x80"}',
        b'{"a": "\\ud800"}',
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": 1e999}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"a": 01}',
        b"\xef\xbb\xbf{}",
        b"{}\x00",
        b'{"a": "\x00"}',
        b"{}{}",
        b"[" * 100_000,
        b"[" * 1025 + b"]" * 1025,
    ],
)
def test_malformed_json_is_refused(body: bytes) -> None:
    with pytest.raises(NotAnAdmissionReview) as error:
        parse_review(body)
    assert str(error.value).startswith("the body is not JSON: ")


@pytest.mark.parametrize(("length", "fits"), [(253, True), (254, False), (1 << 20, False)])
def test_a_uid_is_echoed_so_it_has_a_length(length: int, fits: bool) -> None:
    body = orjson.dumps(review(appwrapper(), uid="u" * length))
    if fits:
        assert parse_review(body).uid == "u" * length
    else:
        with pytest.raises(
            NotAnAdmissionReview, match=r"^the request's uid has more than 253 char"
        ):
            parse_review(body)


def unusable(body: Any) -> str:
    """Why; the answer is under the request's UID."""
    with pytest.raises(UnusableRequest) as error:
        parse_review(body if isinstance(body, bytes) else orjson.dumps(body))
    assert error.value.uid == "7"
    return str(error.value)


USER_INFO = {"username": "alice"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"operation": "PATCH"}, "request.operation is not one of Kubernetes"),
        ({"operation": None}, "request.operation is not one of Kubernetes"),
        ({"operation": ["CREATE"]}, "request.operation is not one of Kubernetes"),
        ({"object": None}, "request.object is missing or empty"),
        ({"object": {}}, "request.object is missing or empty"),
        ({"object": []}, "request.object is an array, not an object"),
        ({"object": "{}"}, "request.object is a string, not an object"),
        ({"oldObject": 1}, "request.oldObject is a number, not an object"),
        ({"operation": "UPDATE"}, "request.oldObject is missing or empty"),
        ({"kind": None}, "request.kind.kind is missing"),
        ({"namespace": None}, "request.namespace is missing"),
        ({"namespace": ""}, "request.namespace is missing"),
        ({"kind": {"group": "workload.codeflare.dev"}}, "request.kind.kind is missing"),
        ({"kind": "AppWrapper"}, "request.kind is a string, not an object"),
        ({"kind": {"kind": 1}}, "request.kind.kind is a number, not a string"),
        ({"kind": {"kind": "P", "group": {}}}, "request.kind.group is an object, not a string"),
        ({"name": True}, "request.name is a boolean, not a string"),
        ({"name": "n" * 254}, "request.name has more than 253 characters"),
        ({"namespace": ["team1"]}, "request.namespace is an array, not a string"),
        ({"subResource": 0}, "request.subResource is a number, not a string"),
        ({"dryRun": "true"}, "request.dryRun is a string, not a boolean"),
        ({"userInfo": None}, "request.userInfo.username is missing"),
        ({"userInfo": {"username": ""}}, "request.userInfo.username is missing"),
        ({"userInfo": []}, "request.userInfo is an array, not an object"),
        ({"userInfo": {"username": 1}}, "request.userInfo.username is a number, not a string"),
        ({"userInfo": USER_INFO | {"uid": {}}}, "request.userInfo.uid is an object, not a string"),
        (
            {"userInfo": USER_INFO | {"groups": "system:masters"}},
            "request.userInfo.groups is a string, not an array",
        ),
        (
            {"userInfo": USER_INFO | {"groups": ["a", None]}},
            "request.userInfo.groups[1] is null, not a string",
        ),
    ],
)
def test_a_request_without_sense_keeps_its_uid(fields: dict[str, Any], message: str) -> None:
    body = review(appwrapper())
    body["request"].update(fields)
    assert unusable(body) == message


def changed(**fields: Any) -> dict[str, Any]:
    return appwrapper() | fields


@pytest.mark.parametrize(
    ("target", "fields"),
    [
        (changed(metadata={"generateName": "job-"}), {"name": ""}),
        (changed(metadata=None), {}),
        # Another webhook may have made the name.
        (changed(metadata={"name": "job-x", "generateName": "job-"}), {"name": ""}),
        ({"kind": "Pod", "apiVersion": "v1"}, {"kind": {"version": "v1", "kind": "Pod"}}),
        # What a subresource takes may be of another Kind.
        (changed(kind="Scale", metadata={"name": "x"}), {"subResource": "scale"}),
        # No API server says so; whoever does gets an answer and nothing else.
        (changed(kind="Job"), {}),
        (changed(metadata={"name": "other", "namespace": "kube-system"}), {}),
    ],
)
def test_an_object_need_not_repeat_fields_of_the_request(
    target: dict[str, Any], fields: dict[str, Any]
) -> None:
    assert parse_review(orjson.dumps(review(target, **fields))).object == target


def nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def test_an_object_that_cannot_be_encoded_again_is_refused() -> None:
    within = review(changed(spec=nested(247)))
    assert parse_review(orjson.dumps(within)).object == within["request"]["object"]
    [head, tail] = orjson.dumps(review(changed(spec=1))).split(b'"spec":1')
    deep = head + b'"spec":' + b"[" * 400 + b"]" * 400 + tail
    message = "the request is nested deeper than 250 levels"
    assert unusable(deep) == message


@pytest.mark.parametrize("levels", range(235, 265))
def test_an_accepted_object_can_be_encoded_again_however_few_brackets_it_has(levels: int) -> None:
    body = orjson.dumps(
        {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": "7",
                "operation": "CREATE",
                "kind": {"kind": "Pod"},
                "userInfo": {"username": "alice"},
                "object": {"a": 1},
            },
        }
    ).replace(b'"a":1', b'"a":' + b"[" * levels + b"]" * levels)
    try:
        orjson.dumps(orjson.loads(body))
    except orjson.JSONEncodeError:
        assert levels > 247
        assert unusable(body) == "the request is nested deeper than 250 levels"
    else:
        assert parse_review(body).object["a"] is not None


def test_a_review_with_a_million_objects_is_refused_undecoded() -> None:
    """Seven MiB of them would take a quarter of a GiB for a moment, and others half a second."""
    head = b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"7",'
    many = b"[" + b"{}," * 999_997 + b"{}]"
    assert unusable(head + b'"object":' + many + b"}}") == (
        "the request has more than 1000000 objects and arrays"
    )
    with pytest.raises(NotAnAdmissionReview, match=r"^the request has more than 1000000 objects"):
        parse_review(b"[[" + many + b"]]")


def test_a_review_too_deep_to_decode_is_refused_under_its_uid() -> None:
    """The API server takes objects of 10,000 levels: their users should see why not we."""
    head = b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"7",'
    deep = b"[" * 5000 + b"]" * 5000
    assert unusable(head + b'"object":' + deep + b"}}") == (
        "the request is nested deeper than 250 levels"
    )
    for body in (deep, b" " + head + b'"object":' + deep + b"}}", head + b'"object":01}}'):
        with pytest.raises(NotAnAdmissionReview, match=r"^the body is not JSON: "):
            parse_review(body)


def test_an_object_being_deleted_is_accepted_however_deep_it_is() -> None:
    deep = b"[" * 400 + b"]" * 400
    old = changed(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}, spec=1)
    body = orjson.dumps(review(changed(spec=1), old=old, operation="UPDATE"))
    parsed = parse_review(body.replace(b'"spec":1', b'"spec":' + deep))
    assert parsed.old_object is not None
    assert parsed.old_object["metadata"] == old["metadata"]


def answered(verdict: Any) -> Any:
    body = orjson.loads(answer("7", verdict))
    assert (body["apiVersion"], body["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert body["response"].pop("uid") == "7"
    return body["response"]


def test_allowed() -> None:
    assert answered(Allowed()) == {"allowed": True}
    assert answered(Allowed(("careful",))) == {"allowed": True, "warnings": ["careful"]}


def test_patched() -> None:
    patch = [{"op": "add", "path": "/a", "value": "ü"}]
    response = answered(Patched(patch, ("careful",)))
    assert orjson.loads(b64decode(response.pop("patch"))) == patch
    assert response == {"allowed": True, "patchType": "JSONPatch", "warnings": ["careful"]}


def test_denied() -> None:
    assert answered(Denied({"code": 422}, ("careful",))) == {
        "allowed": False,
        "status": {"code": 422},
        "warnings": ["careful"],
    }


@pytest.mark.parametrize(("code", "reason"), [(400, "BadRequest"), (500, "InternalError")])
def test_errored(code: int, reason: str) -> None:
    assert answered(Errored(code, "why")) == {
        "allowed": False,
        "status": {"status": "Failure", "code": code, "reason": reason, "message": "why"},
    }
