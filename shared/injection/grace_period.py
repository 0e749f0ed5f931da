"""How long a pod may take to end once it is asked to. Pure.

A kubelet that has begun to wait for a pod's end waits for as long as it was told first: nothing
that the API offers ends the wait early. Deleting the pod with grace period 0 removes the object
alone, and the process keeps its GPU while its quota is given to others. So what shall be over after
a time has to be told that time from the beginning.
"""

from datetime import timedelta
from typing import Final

from shared.api.json import JsonObject, JsonValue

FIELD: Final = "terminationGracePeriodSeconds"
_DEFAULT: Final = 30  # Kubernetes'
# With 0 the API server removes the object without word from the node.
_SHORTEST: Final = 1


def cap_grace_period(pod_template: JsonObject, longest: timedelta) -> None:
    """Changes `pod_template`, the caller's own copy, where its pods would take longer."""
    spec = pod_template["spec"]
    cut = capped_grace_period(spec.get(FIELD), longest)
    if cut is not None:
        spec[FIELD] = cut


def capped_grace_period(asked: JsonValue, longest: timedelta) -> int | None:
    """The seconds that pods get instead of `asked`; None where that is short enough.

    Whole seconds, and at least one. What is no number is left for the API server to refuse.
    """
    seconds = _DEFAULT if asked is None else asked
    cap = max(_SHORTEST, int(longest.total_seconds()))
    return cap if isinstance(seconds, int) and seconds > cap else None
