"""Perform the actions of a decision: one status write, then the side effects it announces."""

import logging
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from controller.apply.accounting import log_end
from controller.apply.activation import activate
from controller.apply.creator import ComponentCreator
from controller.apply.deleter import Deleter
from controller.apply.events import Teller
from controller.apply.eviction import evict
from controller.apply.fence import read_unchanged
from controller.apply.status import status_after
from controller.facts.appwrapper_outline import Outline, component_texts, outlined
from controller.facts.observe import Observation
from controller.memory.memory import Memory
from controller.phases.actions import (
    Actions,
    ActivateWorkload,
    AddFinalizer,
    CreateComponents,
    DeleteComponents,
    EvictWorkload,
    MoveTo,
    RemoveFinalizer,
    WakeAfter,
    reported_after,
)
from shared.api.appwrapper import AppWrapper
from shared.api.names import API_VERSION, FINALIZER, KIND
from shared.api.objects import APPWRAPPERS
from shared.kube.client import Conflict, KubeClient, NotFound, PatchType
from shared.kube.informer import Informer
from shared.process.logs import object_fields

logger = logging.getLogger(__name__)


class Applier:
    """Writes an AppWrapper with the resourceVersion that the decision is based on."""

    def __init__(
        self,
        client: KubeClient,
        appwrappers: Informer[Outline],
        creator: ComponentCreator,
        deleter: Deleter,
        teller: Teller,
        memory: Memory,
        gpus: Collection[str],
    ) -> None:
        self._client = client
        self._appwrappers = appwrappers
        self._creator = creator
        self._deleter = deleter
        self._teller = teller
        self._memory = memory
        self._gpus = gpus  # the resources that count as GPUs

    async def apply(
        self, observation: Observation, actions: Actions, now: datetime
    ) -> timedelta | None:
        """Return the delay until the next pass; None: the next change. Raises KubeError.

        After a Conflict the cache is behind: it is updated with the live object before raising.
        """
        if not actions and not self._memory.awaits_first_pod(observation.appwrapper.uid):
            return None  # as on almost every pass: nothing to write, to report or to measure
        try:
            return await self._apply(observation, actions, now)
        except Conflict:
            await self._refresh(observation.appwrapper)
            raise

    async def _apply(
        self, observation: Observation, actions: Actions, now: datetime
    ) -> timedelta | None:
        appwrapper = observation.appwrapper
        if AddFinalizer() in actions:
            appwrapper = await self._set_finalizers(appwrapper, [*appwrapper.finalizers, FINALIZER])
        appwrapper, texts = await self._write_status(appwrapper, observation, actions, now)
        self._teller.tell(observation, actions)
        for action in actions:
            match action:
                case CreateComponents():
                    if texts is None:
                        # The components of the version that was decided on.
                        purpose = "create its components"
                        live = await read_unchanged(self._client, appwrapper, purpose)
                        texts = component_texts(live)
                    await self._creator.create_missing(appwrapper, texts, now, observation.config)
                case DeleteComponents(mode, keep, nodes):
                    current = replace(observation, appwrapper=appwrapper)
                    await self._deleter.delete(current, mode, keep=keep, nodes=nodes)
                case EvictWorkload(found):
                    await evict(self._client, appwrapper.namespace, found, now)
                case ActivateWorkload(workload, active):
                    namespace = appwrapper.namespace
                    await activate(self._client, namespace, workload, active=active)
                case RemoveFinalizer():
                    await self._let_go(appwrapper)
                case _:
                    pass
        return _requeue(actions)

    async def _write_status(
        self, appwrapper: AppWrapper, observation: Observation, actions: Actions, now: datetime
    ) -> tuple[AppWrapper, tuple[bytes, ...] | None]:
        """Return the AppWrapper after the write, and its components if the answer has them.

        The components are returned only if they are to be created now.
        """
        status = status_after(appwrapper, observation.snapshot.timers, actions, now)
        remembered = self._memory.of(appwrapper.uid)
        if status == appwrapper.status:
            # A report may have other data and the same text.
            remembered.reported = reported_after(remembered.reported, actions)
            return appwrapper, None
        # The API server reads only the status of this request, so the spec is left out.
        body = {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {
                "namespace": appwrapper.namespace,
                "name": appwrapper.name,
                "uid": appwrapper.uid,
                "resourceVersion": appwrapper.resource_version,
            },
            "status": status,
        }
        written = await self._client.update(
            APPWRAPPERS, appwrapper.namespace, appwrapper.name, body, subresource="status"
        )
        self._appwrappers.assume(written, silent=True)
        remembered.reported = reported_after(remembered.reported, actions)
        self._log_move(appwrapper, AppWrapper(written), actions, now)
        texts = component_texts(written) if CreateComponents() in actions else None
        return AppWrapper(outlined(written)), texts

    async def _set_finalizers(
        self, appwrapper: AppWrapper, finalizers: Sequence[str]
    ) -> AppWrapper:
        """Raises Conflict if anything changed: the user may have suspended the AppWrapper."""
        written = await self._client.patch(
            APPWRAPPERS,
            appwrapper.namespace,
            appwrapper.name,
            {
                "metadata": {
                    "uid": appwrapper.uid,
                    "resourceVersion": appwrapper.resource_version,
                    "finalizers": list(finalizers),
                }
            },
            PatchType.MERGE,
        )
        self._appwrappers.assume(written, silent=True)
        return AppWrapper(outlined(written))

    async def _let_go(self, appwrapper: AppWrapper) -> None:
        kept = [each for each in appwrapper.finalizers if each != FINALIZER]
        with suppress(NotFound):  # gone already, and the watch has not reported it yet
            await self._set_finalizers(appwrapper, kept)

    async def _refresh(self, appwrapper: AppWrapper) -> None:
        try:
            live = await self._client.get(APPWRAPPERS, appwrapper.namespace, appwrapper.name)
        except NotFound:
            return  # the watch will report it
        # Not silent: another client changed it, or created another object of this name. The watch
        # reports that version later, and the cache then ignores it as known.
        self._appwrappers.assume(live)

    def _log_move(
        self, appwrapper: AppWrapper, written: AppWrapper, actions: Actions, now: datetime
    ) -> None:
        for action in actions:
            if isinstance(action, MoveTo):
                log_end(appwrapper, written, action, self._gpus, now)
                why = action.message if action.logged is None else action.logged
                logger.info(
                    "from %s to %s%s",
                    appwrapper.status.get("phase") or "new",
                    action.phase.value,
                    f": {why}" if why else "",
                    extra=object_fields(
                        appwrapper.namespace,
                        appwrapper.name,
                        appwrapper.uid,
                        phase=action.phase.value,
                        reason=action.reason.value,
                    ),
                )


def _requeue(actions: Actions) -> timedelta | None:
    """Return the delay that an action asks for; 0 after a move without one.

    The controller's own write causes no pass. Kueue may admit an AppWrapper before the controller
    sees it first: then no further change would end the phase Suspended.
    """
    asked = next((a.delay for a in actions if isinstance(a, WakeAfter)), None)
    if asked is None and any(isinstance(action, MoveTo) for action in actions):
        return timedelta(0)
    return asked
