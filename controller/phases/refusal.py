"""A component that the API server refused to create."""

from controller.phases.actions import Actions, RecordRefusal
from controller.phases.snapshot import Snapshot


def record_refusal(snapshot: Snapshot) -> Actions:
    """Remember it in whatever phase, once, since only this process knows.

    The proof that everything is gone needs it: of a Kind that the controller may neither create nor
    read nobody else can say that there is no object.
    """
    problem = snapshot.create_problem
    if problem is None or problem.refused is None:
        return ()
    if not any(each.announced for each in snapshot.components[problem.refused :][:1]):
        return ()  # recorded already
    return (RecordRefusal(problem.refused, problem.message),)
