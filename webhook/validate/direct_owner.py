"""Nobody hides what Kueue queues behind a controller: what teams create directly."""

from collections.abc import Iterator
from typing import Final

from shared.kinds.table import KINDS
from webhook.admission_review import AdmissionRequest
from webhook.controller_references import controller_references
from webhook.facts import Facts

# What Kueue can queue, whichever of it a configuration lets teams create themselves. AppWrappers
# are not among them: our controller starts none without podSetInfos.
_NEVER_WRAPPED: Final = {
    "kubeflow.org/JAXJob",
    "kubeflow.org/PaddleJob",
    "kubeflow.org/TFJob",
    "kubeflow.org/XGBoostJob",
    "ray.io/RayService",
    "trainer.kubeflow.org/TrainJob",
}
_QUEUED: Final = _NEVER_WRAPPED | {each.group_kind for each in KINDS if each.pod_sets is not None}


def check_direct_owner(request: AdmissionRequest, facts: Facts) -> Iterator[str]:
    """Nobody hides what Kueue queues behind a controller: what teams create directly.

    Why the object may not be created with its controller, and what to do instead.

    Measured: a PyTorchJob whose ownerReferences name a running AppWrapper runs at once, in a queue
    that admits nothing. Operators, which make such objects rightly, are part of the platform.
    """
    if facts.is_platform or request.group_kind not in _QUEUED:
        return
    if controller_references(request.object):
        yield (
            "metadata.ownerReferences names a controller, so Kueue would let it run without quota "
            "of its own: leave that owner out, or set its controller to false"
        )
