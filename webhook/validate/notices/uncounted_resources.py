"""What pods ask for in ways that Kueue does not see: they get it without quota."""

from collections.abc import Iterator

from shared.api.admission_warning import AdmissionWarning
from shared.api.json import JsonObject
from shared.kinds.counts import asks_for_resources
from webhook.component_pods import pod_templates
from webhook.submission import Submission


def warn_of_uncounted_resources(submission: Submission) -> Iterator[AdmissionWarning]:
    """What pods ask for in ways that Kueue does not see: they get it without quota.

    On CREATE: what Kueue's copy of an AppWrapper's pod template leaves out.
    """
    for component in submission.components:
        for path, template in pod_templates(component):
            for field, what in _uncounted(template["spec"]):
                yield AdmissionWarning(
                    f"{path}.spec.{field}: not counted against the quota: {what}"
                )


def _uncounted(spec: JsonObject) -> Iterator[tuple[str, str]]:
    if spec.get("resourceClaims"):
        yield "resourceClaims", "Kueue does not see resource claims of an AppWrapper"
    if asks_for_resources(spec.get("resources")):
        yield "resources", "Kueue only sees what each container requests: request it there"
    containers = spec.get("initContainers")
    for index, container in enumerate(containers if isinstance(containers, list) else ()):
        if not isinstance(container, dict) or container.get("restartPolicy") != "Always":
            continue
        if asks_for_resources(container.get("resources")):
            what = (
                "Kueue takes this sidecar for an init container, which is done before the pod's "
                "containers start"
            )
            yield f"initContainers[{index}].resources", what
