"""Contents of an AppWrapper: Kinds, namespaces, and pod sets as Kueue infers them."""

from collections.abc import Iterator
from typing import Any

from shared.api.objects import JsonObject
from tests.support.admission_corpus.case import TEAM, Case, appwrapper, invalid
from tests.support.builders.admission import POD, SERVICE, component

_DEPLOYMENT: JsonObject = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d"},
    "spec": {"replicas": 2, "template": {"spec": {"containers": []}}},
}
_LISTS = "`kubectl explain appwrapper.spec.components.template` lists the Kinds that may be wrapped"


def _kinds() -> Iterator[Case]:
    yield Case(
        name="a Pod, a Deployment and a Service -> accepted with a warning of the Deployment",
        sent=appwrapper(component(), component(_DEPLOYMENT), component(SERVICE)),
        warnings=(
            "spec.components[1]: a Deployment never completes, so the AppWrapper will never "
            "succeed; if it only serves the others, annotate the component "
            'workload.codeflare.dev.appwrapper/helper: "true"',
        ),
    )
    for version in ("v1beta2", "v9"):
        inner = {"apiVersion": f"workload.codeflare.dev/{version}", "kind": "AppWrapper"}
        yield Case(
            name=f"an AppWrapper of version {version} in an AppWrapper -> refused",
            sent=appwrapper(component(), component(inner)),
            refused=invalid(
                "spec.components[1].template: Forbidden: an AppWrapper cannot contain another "
                "AppWrapper"
            ),
        )
    cron_job = {"apiVersion": "batch/v1", "kind": "CronJob"}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    yield Case(
        name="two Kinds that may not be wrapped -> the nearest Kind, and the list once",
        sent=appwrapper(component(cron_job), component(lease)),
        refused=invalid(
            "spec.components[0].template: Forbidden: batch/CronJob may not be wrapped: use "
            f"batch/Job instead; {_LISTS}",
            "spec.components[1].template: Forbidden: coordination.k8s.io/Lease may not be wrapped",
        ),
    )
    secret = {"apiVersion": "v1", "kind": "Secret"}
    yield Case(
        name="several components without pods -> refused with each Kind once",
        sent=appwrapper(component(SERVICE), component(secret), component(SERVICE)),
        refused=invalid(
            "spec.components: Required value: at least one component must have pods, but none does "
            "(Service, Secret)"
        ),
        warnings=(
            "spec.components[1]: every user who may read AppWrappers can read this Secret: create "
            "it outside the AppWrapper and refer to it by name",
        ),
    )


def _namespaces() -> Iterator[Case]:
    for namespace in (TEAM, "", None):
        pod = {**POD, "metadata": {"name": "p", "namespace": namespace}}
        shown = "its AppWrapper's namespace" if namespace == TEAM else repr(namespace)
        yield Case(name=f"a component in {shown} -> accepted", sent=appwrapper(component(pod)))
    for namespace in ("team2", "kube-system"):
        deployment = {**_DEPLOYMENT, "metadata": {"name": "d", "namespace": namespace}}
        yield Case(
            name=f"a component in namespace {namespace} -> refused",
            sent=appwrapper(component(deployment)),
            refused=invalid(
                "spec.components[0].template.metadata.namespace: Forbidden: an AppWrapper in "
                f"namespace {TEAM} cannot create resources in another namespace"
            ),
        )


_INFERRED = {"path": "template.spec.template", "replicas": 2}
_OTHERS: tuple[list[Any], ...] = (
    [{"path": "template.spec.template", "replicas": 3}],
    [{"path": "template.spec.template"}],
    [{"path": "template", "replicas": 2}],
    [_INFERRED, {"path": "template"}],
)


def _inferred() -> Iterator[Case]:
    alike: tuple[Any, ...] = ([], None, [_INFERRED])
    for declared in alike:
        yield Case(
            name=f"pod sets {declared} of a Deployment of two pods -> accepted",
            sent=appwrapper(component(_DEPLOYMENT, podSets=declared)),
        )
    one = {**_DEPLOYMENT, "spec": {"template": {"spec": {}}}}
    yield Case(
        name="a pod set of a Deployment of one pod, without replicas -> accepted",
        sent=appwrapper(component(one, podSets=[{"path": "template.spec.template"}])),
    )
    for declared in _OTHERS:
        yield Case(
            name=f"pod sets {declared} of a Deployment of two pods -> refused",
            sent=appwrapper(component(_DEPLOYMENT, podSets=declared)),
            refused=invalid(
                "spec.components[0].podSets: Invalid value: Kueue infers other pod sets for a "
                "Deployment: template.spec.template x 2; leave podSets out"
            ),
        )
    job = {"apiVersion": "batch/v1", "kind": "Job", "spec": {}}
    yield Case(
        name="a Job without a pod template -> refused",
        sent=appwrapper(component(job)),
        refused=invalid(
            "spec.components[0].template: Invalid value: the Job needs spec.template: "
            "template.spec has no field 'template'"
        ),
    )


CASES = (*_kinds(), *_namespaces(), *_inferred())
