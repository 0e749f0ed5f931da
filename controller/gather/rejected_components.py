"""Find components that their operator rejects, which only an Event shows.

KubeRay and the MPI Operator write nothing into the status of an invalid object: without the Event
it looks like one whose pods are about to come.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from controller.phases.snapshot import Component
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import Terminal, in_words
from shared.api.objects import EVENTS, JsonObject
from shared.kinds.table import record_of
from shared.kube.client import KubeClient, KubeError
from shared.process.logs import object_fields

logger = logging.getLogger(__name__)

_WARNING: Final = "Warning"


async def with_rejections(
    client: KubeClient, appwrapper: AppWrapper, components: Sequence[Component]
) -> tuple[Component, ...]:
    """Return the components, those failed that their operator rejects.

    A failed read of Events delays nothing: the pods are missing in any case.
    """
    try:
        return tuple([await _judged(client, appwrapper, each) for each in components])
    except KubeError as error:
        logger.info(
            "whether an operator rejects a component is unknown: its Events cannot be read: %s",
            error,
            extra=object_fields(appwrapper.namespace, appwrapper.name, appwrapper.uid),
        )
        return tuple(components)


async def _judged(client: KubeClient, appwrapper: AppWrapper, each: Component) -> Component:
    if not (each.rejectable and each.uid and each.resource) or each.terminal:
        return each
    reasons = record_of(each.resource.gvk.group_kind).rejections
    selector = f"involvedObject.uid={each.uid}"
    pages = client.pages(EVENTS, appwrapper.namespace, field_selector=selector)
    events = [item async for page in pages for item in page.items if _rejects(item, reasons)]
    if not events:
        return each
    words = in_words(events[-1]["reason"], events[-1].get("message"))
    return replace(each, terminal=Terminal.FAILED, message=words, invalid=True)


def _rejects(event: JsonObject, reasons: Sequence[str]) -> bool:
    return event.get("type") == _WARNING and event.get("reason") in reasons
