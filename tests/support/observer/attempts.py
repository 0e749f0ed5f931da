"""The promises about attempts: one is alive at a time, and each retry is counted once. Pure.

- Pods of two attempts are never alive at once. A pod counts if an object controls it: a pod that a
  person labelled belongs to no attempt.
- `status.resettingCount` changes only when the AppWrapper goes to Resetting, by one, and once for
  each attempt. The count of an AppWrapper that another controller manages is that controller's.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from tests.support.observer.change import Change

ATTEMPT_LABEL: Final = "workload.codeflare.dev/attempt"
_OURS: Final = ("", "workload.codeflare.dev/appwrapper-controller")
_ENDED: Final = frozenset({"Succeeded", "Failed"})


@dataclass(slots=True)
class Attempts:
    """The attempts of one AppWrapper, as its status and its pods show them."""

    retries: int = 0
    counted: set[int] = field(default_factory=set)  # the attempts that a retry followed
    alive: dict[str, str] = field(default_factory=dict)  # UID of a live pod -> its attempt

    def see_appwrapper(self, change: Change, before: str) -> list[str]:
        """Return what the count of retries breaks. `before`: the phase before; empty at first."""
        status: dict[str, Any] = change.item.get("status") or {}
        count, attempt = status.get("resettingCount") or 0, status.get("attempt") or 0
        known, self.retries = self.retries, count
        manager = (change.item.get("spec") or {}).get("managedBy") or ""
        if count == known or before == "" or manager not in _OURS:
            return []
        phase = status.get("phase") or ""
        if phase != "Resetting" or before == "Resetting":
            return [f"counts {count} retries after {known} in {phase}, without a reset"]
        broken = []
        if count != known + 1:
            broken.append(f"counts {count} retries after {known}")
        if attempt in self.counted:
            broken.append(f"counts a second retry after attempt {attempt}")
        if attempt:  # the Go operator writes none
            self.counted.add(attempt)
        return broken

    def see_pod(self, change: Change) -> None:
        """Record whether a pod is alive, and in which attempt."""
        attempt = change.labels.get(ATTEMPT_LABEL, "")
        references = change.item["metadata"].get("ownerReferences") or ()
        controlled = any(each.get("controller") for each in references)
        ended = (change.item.get("status") or {}).get("phase") in _ENDED
        if change.deleted or ended or not attempt or not controlled:
            self.alive.pop(change.uid, None)
        else:
            self.alive[change.uid] = attempt

    def at_once(self) -> str:
        """Return the attempts whose pods are alive; empty for one attempt or none."""
        attempts = sorted(set(self.alive.values()))
        return " and ".join(attempts) if len(attempts) > 1 else ""
