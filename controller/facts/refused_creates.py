"""Separate refusals that the component itself causes from those that an admin may lift."""

import re
from typing import Final

# Status codes of a create that no retry changes: malformed, too large, invalid.
_HOPELESS: Final = frozenset({400, 413, 422})
_FORBIDDEN: Final = 403
# A webhook names an invalid field in the words of Kubernetes' validation, as the webhooks of Kueue
# and of the operators do, or Pod Security forbids the pod. Other denials depend on rights, quotas
# and policies.
# The webhook of Kubeflow Trainer reads a cache, which may lack the runtime created just before.
_OF_A_CACHE: Final = "must be created before the TrainJob is created"
_OF_THE_COMPONENT: Final = re.compile(
    r"denied the request: .*[\w\])]: (Invalid value|Required value|Duplicate value"
    r"|Unsupported value|Forbidden|Too long|Too many)(?=[:,\]\n]|$)|violates PodSecurity",
    re.DOTALL,
)


def is_definite(status: int, message: str) -> bool:
    """True if the API server, which answered so, will refuse the same component again."""
    if status in _HOPELESS:
        return True
    if status != _FORBIDDEN or _OF_A_CACHE in message:
        return False
    return _OF_THE_COMPONENT.search(message) is not None
