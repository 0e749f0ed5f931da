"""Keep the pods of team namespaces under the scheduler."""

from collections.abc import Iterator

from shared.api.findings import FieldError, FieldErrorKind
from webhook.rules.submission import Submission, spec_of


def check_node_names(submission: Submission) -> Iterator[FieldError]:
    """Reject `spec.nodeName` in the pod templates of team namespaces.

    In every pod template. Such a pod skips the scheduler, and so runs on a cordoned node, or on one
    that Autopilot or the controller keeps it from.
    """
    for component in submission.of_team:
        for path, pod_template in component.all_pod_templates:
            if spec_of(pod_template).get("nodeName"):
                yield FieldError(
                    component.place(f"{path}.spec.nodeName"),
                    FieldErrorKind.FORBIDDEN,
                    "the pod would skip the scheduler, and so run on a cordoned or broken node: "
                    "remove this field (a nodeSelector can name the node)",
                )
