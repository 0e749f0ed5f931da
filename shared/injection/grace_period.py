"""How long a pod may take to end once it is asked to. Pure.

A kubelet that has begun to wait for a pod's end waits for as long as it was told first: nothing
that the API offers ends the wait early. Deleting the pod with grace period 0 removes the object
alone, and the process keeps its GPU while its quota is given to others. So what shall be over after
a time has to be told that time from the beginning.
"""

from datetime import timedelta
from typing import Final

from shared.api.json import JsonObject

FIELD: Final = "terminationGracePeriodSeconds"
_DEFAULT: Final = 30  # Kubernetes'
# With 0 the API server removes the object without word from the node.
_SHORTEST: Final = 1


def cap_grace_period(pod_template: JsonObject, longest: timedelta) -> None:
    """Changes `pod_template`, the caller's own copy, where its pods would take longer.

    Whole seconds, and at least one. What is no number is left for the API server to refuse.
    """
    spec = pod_template["spec"]
    asked = _DEFAULT if spec.get(FIELD) is None else spec[FIELD]
    cap = max(_SHORTEST, int(longest.total_seconds()))
    if isinstance(asked, int) and asked > cap:
        spec[FIELD] = cap
