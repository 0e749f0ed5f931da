"""The pod sets of kinds that Kueue does not infer itself, where the user declares none."""

from collections.abc import Iterator

from shared.kinds.pod_set import PodSetError
from shared.kinds.table import pod_sets_to_declare
from webhook.admission_review import AdmissionRequest
from webhook.facts import Facts
from webhook.json_patch import SetField
from webhook.submitted_components import submitted_components


def declare_pod_sets(request: AdmissionRequest, _facts: Facts) -> Iterator[SetField]:
    """The pod sets of kinds that Kueue does not infer itself, where the user declares none.

    On CREATE: Kueue then reserves quota for the pods of a LeaderWorkerSet or an MPIJob, too.

    A user's own declaration stands. What cannot be told is left for validation to refuse.
    """
    for index, component, template in submitted_components(request):
        if component.get("podSets"):
            continue
        try:
            pod_sets = pod_sets_to_declare(template)
        except PodSetError:
            continue
        if pod_sets:
            declared = [pod_set.as_json() for pod_set in pod_sets]
            yield SetField(("spec", "components", index, "podSets"), declared)
