from base64 import b64decode
from typing import Any

import orjson
import pytest

from tests.builders.admission import appwrapper, review
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
    )


def test_what_may_be_missing_is_empty() -> None:
    request: dict[str, Any] = {
        "uid": "7",
        "operation": "DELETE",
        "kind": None,
        "userInfo": [],
        "object": None,
    }
    body = orjson.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    )
    assert parse_review(body) == AdmissionRequest(
        "7", Operation.DELETE, "", "", "", "", User("", ""), {}, None, review_size=len(body)
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
    ],
)
def test_what_is_no_review_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(NotAnAdmissionReview) as error:
        parse_review(body)
    assert str(error.value) == message


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'{"a": NaN}', b"[" * 100_000])
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(NotAnAdmissionReview) as error:
        parse_review(body)
    assert str(error.value).startswith("the body is not JSON: ")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"operation": "PATCH"}, "request.operation is not one of Kubernetes"),
        ({"operation": None}, "request.operation is not one of Kubernetes"),
        ({"object": None}, "request.object is not an object"),
        ({"object": []}, "request.object is not an object"),
        ({"operation": "UPDATE"}, "request.oldObject is not an object"),
    ],
)
def test_a_request_without_sense_keeps_its_uid(fields: dict[str, Any], message: str) -> None:
    body = review(appwrapper())
    body["request"].update(fields)
    with pytest.raises(UnusableRequest) as error:
        parse_review(orjson.dumps(body))
    assert (error.value.uid, str(error.value)) == ("7", message)


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
