"""What this process created, and what it could not create: a memory, not a record.

The applier writes it and the gatherer reads it, so that the outcome of a create reaches the next
decision without a status write of its own. After a restart it is empty: then the write-ahead in
status and the objects themselves say the same, a little later.
"""

from dataclasses import dataclass, field

from controller.phases.snapshot import CreateProblem


@dataclass(slots=True)
class _Deployment:
    attempt: int
    created: dict[int, str] = field(default_factory=dict)  # index → UID of the object
    problem: CreateProblem | None = None
    failures: int = 0


class Creations:
    """By AppWrapper UID; only the latest attempt of each is remembered."""

    def __init__(self) -> None:
        self._deployments: dict[str, _Deployment] = {}

    def latest(self, uid: str) -> int:
        """The number of the attempt that is remembered; 0 where none is."""
        deployment = self._deployments.get(uid)
        return deployment.attempt if deployment else 0

    def created(self, uid: str, attempt: int, index: int) -> bool:
        """The component of that index was created, or adopted, in that attempt."""
        deployment = self._deployments.get(uid)
        return (
            deployment is not None and deployment.attempt == attempt and index in deployment.created
        )

    def object_uid(self, uid: str, attempt: int, index: int) -> str | None:
        """The UID of what was created, or adopted, as that component in that attempt."""
        if not self.created(uid, attempt, index):
            return None
        return self._deployments[uid].created[index]

    def problem(self, uid: str, attempt: int) -> CreateProblem | None:
        """Why the last create of that attempt failed; None after a success."""
        deployment = self._deployments.get(uid)
        return deployment.problem if deployment and deployment.attempt == attempt else None

    def failures(self, uid: str, attempt: int) -> int:
        """How many creates of that attempt failed in a row."""
        deployment = self._deployments.get(uid)
        return deployment.failures if deployment and deployment.attempt == attempt else 0

    def record_success(self, uid: str, attempt: int, index: int, object_uid: str) -> None:
        """The component is there."""
        deployment = self._of(uid, attempt)
        deployment.created[index] = object_uid
        deployment.problem = None
        deployment.failures = 0

    def record_problem(self, uid: str, attempt: int, problem: CreateProblem) -> None:
        """A create failed."""
        deployment = self._of(uid, attempt)
        deployment.problem = problem
        deployment.failures += 1

    def forget(self, uid: str) -> None:
        """The AppWrapper is gone."""
        self._deployments.pop(uid, None)

    def _of(self, uid: str, attempt: int) -> _Deployment:
        deployment = self._deployments.get(uid)
        if deployment is None or deployment.attempt != attempt:
            deployment = self._deployments[uid] = _Deployment(attempt)
        return deployment
