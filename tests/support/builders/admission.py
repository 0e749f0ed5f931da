"""Builds AppWrappers and AdmissionReviews, each as short as its test allows."""

from dataclasses import replace
from typing import Any

from shared.config.configuration import AppWrapperConfig
from tests.support.builders.annotations import prefixed
from tests.support.builders.appwrappers import manifest
from tests.support.builders.pod_schema import POD_SCHEMA
from webhook import chain
from webhook.admission_review import AdmissionRequest, Operation, User
from webhook.rules.submission import Facts
from webhook.verdicts import Allowed, Denied, Patched

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
SERVICE: dict[str, Any] = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}


def component(template: Any = POD, **fields: Any) -> dict[str, Any]:
    return {"template": template, **fields}


def appwrapper(
    *components: Any, labels: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    """Builds an AppWrapper of components; without components, of one Pod."""
    metadata = {} if labels is None else {"labels": labels}
    wrapped = list(components) or [component()]
    return manifest(spec={"components": wrapped, **spec}, name="job", namespace="team1", **metadata)


def queued(*components: Any) -> dict[str, Any]:
    """Builds an AppWrapper that names a queue, as the AppWrappers of teams must."""
    return appwrapper(*components, labels={"kueue.x-k8s.io/queue-name": "default-queue"})


def annotated(*components: Any, **annotations: Any) -> dict[str, Any]:
    """Builds an AppWrapper with these annotations, `retryLimit="5"`."""
    made = appwrapper(*components)
    made["metadata"]["annotations"] = prefixed(**annotations)
    return made


def request(
    submitted: dict[str, Any],
    *,
    old: dict[str, Any] | None = None,
    user: User | None = None,
    name: str = "job",
    group_kind: str = "workload.codeflare.dev/AppWrapper",
    subresource: str = "",
    namespace: str = "team1",
) -> AdmissionRequest:
    """Builds a CREATE, or an UPDATE of `old`."""
    return AdmissionRequest(
        uid="7",
        operation=Operation.CREATE if old is None else Operation.UPDATE,
        group_kind=group_kind,
        subresource=subresource,
        namespace=namespace,
        name=name,
        user=user or User("alice", "42"),
        object=submitted,
        old_object=old,
    )


def review(
    submitted: Any, *, old: Any = None, operation: str = "CREATE", **fields: Any
) -> dict[str, Any]:
    """Builds a whole AdmissionReview, as the API server sends it."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "7",
            "kind": {"group": "workload.codeflare.dev", "version": "v1beta2", "kind": "AppWrapper"},
            "resource": {
                "group": "workload.codeflare.dev",
                "version": "v1beta2",
                "resource": "appwrappers",
            },
            "name": "job",
            "namespace": "team1",
            "operation": operation,
            "userInfo": {"username": "alice", "uid": "42", "groups": ["system:authenticated"]},
            "object": submitted,
            "oldObject": old,
            "dryRun": False,
            "options": None,
            **fields,
        },
    }


def facts(**config: Any) -> Facts:
    """Builds Facts with only the configuration and the schema of pods."""
    return Facts(AppWrapperConfig(**config), pod_schema=POD_SCHEMA)


def team_facts(**config: Any) -> Facts:
    """Builds the same Facts in a team's namespace."""
    return replace(facts(**config), is_team_namespace=True)


def patch_of(
    submitted: dict[str, Any],
    *,
    old: dict[str, Any] | None = None,
    known: Facts | None = None,
    under: str = "",
    **config: Any,
) -> list[dict[str, Any]]:
    """Returns the mutation's operations; [] if it changes nothing. `known` replaces `config`.

    `under` drops the operations on other paths.
    """
    verdict = chain.mutate(request(submitted, old=old), known or facts(**config))
    if isinstance(verdict, Allowed):
        return []
    assert isinstance(verdict, Patched), verdict
    return [operation for operation in verdict.patch if operation["path"].startswith(under)]


def errors_of(
    submitted: dict[str, Any],
    *,
    old: dict[str, Any] | None = None,
    known: Facts | None = None,
    **config: Any,
) -> list[str]:
    """Returns the validation's errors, one text each; [] if it allows. `known` replaces
    `config`.
    """
    verdict = chain.validate(request(submitted, old=old), known or facts(**config))
    if isinstance(verdict, Allowed):
        return []
    assert isinstance(verdict, Denied), verdict
    return [
        f"{cause['field']}: {cause['message']}" for cause in verdict.status["details"]["causes"]
    ]


def warnings_of(
    submitted: dict[str, Any],
    *,
    old: dict[str, Any] | None = None,
    known: Facts | None = None,
    **config: Any,
) -> list[str]:
    """Returns the warnings of both chains, mutation first."""
    judged, found = request(submitted, old=old), known or facts(**config)
    verdicts = (chain.mutate(judged, found), chain.validate(judged, found))
    return [
        text
        for verdict in verdicts
        if isinstance(verdict, Allowed | Patched | Denied)
        for text in verdict.warnings
    ]


def direct_errors(body: dict[str, Any]) -> list[str]:
    """Returns why a team's user may not create this object without wrapping it."""
    group = body["apiVersion"].rpartition("/")[0]
    asked = request(body, group_kind=f"{group}/{body['kind']}")
    verdict = chain.validate(asked, team_facts())
    if isinstance(verdict, Allowed):
        return []
    assert isinstance(verdict, Denied)
    text: str = verdict.status["message"]
    return text.partition(" is forbidden: ")[2].split("; ")
