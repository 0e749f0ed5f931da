"""A namespace that is being deleted, and everything in it."""

from controller.phases.actions import Actions, Reason, SetCondition
from shared.api.names import CONDITION_RESOURCES_DEPLOYED


def let_it_end() -> Actions:
    """Nothing can be created, and what goes is nobody's failure: say so, and wait to be deleted."""
    message = "its namespace is being deleted, and everything in it"
    return (SetCondition(CONDITION_RESOURCES_DEPLOYED, True, Reason.NAMESPACE_ENDING, message),)
