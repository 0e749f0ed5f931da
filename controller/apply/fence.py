"""Stop a process that acts on an old version of an AppWrapper.

A process that slept while another one worked may see objects of a later attempt than its own
version of the AppWrapper. A status write with an old resourceVersion fails by itself. Creates and
deletes of other objects do not, so their callers ask here before they touch such an object.
"""

import logging

from controller.facts.attempt_number import is_number
from shared.api.appwrapper import AppWrapper
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.kube.client import Conflict, KubeClient, NotFound
from shared.process.logs import object_fields

logger = logging.getLogger(__name__)


class OutOfDate(Conflict):
    """The AppWrapper changed since the decision. Read it again, and decide again."""


def is_later(label: str, appwrapper: AppWrapper) -> bool:
    """True if `label`, an object's attempt, is later than that of the AppWrapper as decided on."""
    return is_number(label) and int(label) > appwrapper.attempt


async def read_unchanged(client: KubeClient, appwrapper: AppWrapper, purpose: str) -> JsonObject:
    """Return the live AppWrapper. Raises OutOfDate unless it is the version that was decided on.

    An object that was read before this call is of no attempt that this version does not know.
    A label may still name a later one: another client wrote the label, or set the status back.
    `purpose` completes "the decision to".
    """
    try:
        live = await client.get(APPWRAPPERS, appwrapper.namespace, appwrapper.name)
    except NotFound:
        live = {"metadata": {}}
    if live["metadata"].get("resourceVersion") != appwrapper.resource_version:
        fields = object_fields(appwrapper.namespace, appwrapper.name, appwrapper.uid)
        logger.info("changed since the decision to %s; deciding again", purpose, extra=fields)
        raise OutOfDate(409, "Conflict", f"changed since the decision to {purpose}")
    return live
