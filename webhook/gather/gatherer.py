"""Gather the facts that no request contains. A watch finds the teams' namespaces."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from shared.api.objects import NAMESPACES, GroupVersionKind, JsonObject, metadata, texts
from shared.config.configuration import AppWrapperConfig, LabelSelector
from shared.kube.client import KubeClient, KubeError, NotFound
from shared.kube.informer import Informer
from shared.pod_schema.pod_schema import PodSchema
from shared.process.sources import Sources
from webhook.admission_review import AdmissionRequest, Operation
from webhook.gather.access_reviews import AccessReviews
from webhook.gather.priority_classes import PriorityClasses
from webhook.rules.kinds import kinds_to_review
from webhook.rules.queue import is_quota_at_stake, needs_admin_answer
from webhook.rules.submission import CannotGather, Facts
from webhook.rules.user import is_platform, service_account_namespace

SECONDS: Final = 2.0


class Namespaces:
    """Cache all namespaces once `run` has listed them, and read a missing one live."""

    def __init__(self, client: KubeClient, sources: Sources, teams: LabelSelector) -> None:
        self._client = client
        self._clock = sources.clock
        self._teams = teams
        self._informer: Informer[bool] = Informer(
            client, NAMESPACES, transform=self._matches, sources=sources, metadata_only=True
        )

    async def run(self) -> None:
        await self._informer.run()

    def problem(self) -> str | None:
        """Return why this replica cannot answer yet, None if it can."""
        return self._informer.problem()

    async def is_team(self, name: str, *, confirm_negative: bool = False) -> bool | None:
        """True if the namespace matches `teamNamespaceSelector`, None if it does not exist.

        With `confirm_negative`, confirm a cached False at the API server. Raise CannotGather.
        """
        known = self._informer.get("", name)
        if known is None or (confirm_negative and not known):
            known = await self._live(name)
        return known

    def _matches(self, namespace: JsonObject) -> bool:
        return self._teams.matches(texts(metadata(namespace).get("labels")))

    async def _live(self, name: str) -> bool | None:
        """Read the namespace live: the cache may lack a namespace that is a moment old."""
        try:
            async with self._clock.timeout(SECONDS):
                found: JsonObject = await self._client.get(
                    NAMESPACES, None, name, metadata_only=True
                )
        except NotFound as error:
            if error.of_resource:
                raise CannotGather(f'namespace "{name}" could not be read: {error}') from error
            return None
        except TimeoutError as error:
            text = f'namespace "{name}" could not be read: no answer within {SECONDS:g} s'
            raise CannotGather(text) from error
        except KubeError as error:
            raise CannotGather(f'namespace "{name}" could not be read: {error}') from error
        return self._matches(found)


# The gatherer reads only the facts that the rules for a request need.


class Gatherer:
    """The `app.FactsGatherer` of a serving process. `run` keeps its cache current.

    Gathering takes at most 7 seconds; the API server waits 10 for the webhook.
    """

    def __init__(
        self,
        client: KubeClient,
        sources: Sources,
        config: AppWrapperConfig,
        pod_schema: Callable[[], PodSchema | None],
    ) -> None:
        """`pod_schema` returns the API server's schema of pods, None before the first read."""
        self.config: Final = config
        self._known_schema = pod_schema
        self._namespaces = Namespaces(client, sources, config.team_namespace_selector)
        self._priority_classes = PriorityClasses(client, sources)
        self._reviews = AccessReviews(client, sources.clock)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._namespaces.run())
            group.create_task(self._priority_classes.run())

    def problem(self) -> str | None:
        """Return why this replica cannot answer yet, None if it can."""
        return self._namespaces.problem() or self._priority_classes.problem()

    async def for_mutation(self, request: AdmissionRequest) -> Facts:
        """Raise CannotGather."""
        is_team_namespace = await self._is_team_namespace(request)
        facts = Facts(self.config, is_team_namespace=is_team_namespace)
        if not needs_admin_answer(request, self.config) or not is_quota_at_stake(request, facts):
            return facts
        is_admin = await self._reviews.is_admin(request.user)
        return Facts(self.config, is_team_namespace=is_team_namespace, is_admin=is_admin)

    async def for_validation(self, request: AdmissionRequest) -> Facts:
        """Raise CannotGather."""
        is_team_namespace = await self._is_team_namespace(request)
        if request.operation is not Operation.CREATE:
            return Facts(self.config, is_team_namespace=is_team_namespace)
        return Facts(
            self.config,
            pod_schema=self._pod_schema(),
            is_team_namespace=is_team_namespace,
            priority_classes=self._priority_classes.cached() if is_team_namespace else None,
            denied_kinds=await self._denied_kinds(request),
        )

    async def for_direct_kind(self, request: AdmissionRequest) -> Facts:
        """Raise CannotGather.

        The API server calls the webhook for teams' namespaces only, and may see a new label before
        the cache does. If the cache holds False, the API server decides.
        """
        is_team_namespace = await self._is_team_namespace(request, confirm_negative=True)
        return Facts(
            self.config,
            is_team_namespace=is_team_namespace,
            priority_classes=self._priority_classes.cached() if is_team_namespace else None,
            is_platform=is_team_namespace and await self._is_platform(request),
        )

    async def with_live_priority_classes(self, facts: Facts) -> Facts:
        """Raise CannotGather."""
        return replace(facts, priority_classes=await self._priority_classes.live())

    async def _is_team_namespace(
        self, request: AdmissionRequest, *, confirm_negative: bool = False
    ) -> bool:
        is_team = await self._namespaces.is_team(
            request.namespace, confirm_negative=confirm_negative
        )
        if is_team is None:
            raise CannotGather(f'namespace "{request.namespace}" does not exist')
        return is_team

    def _pod_schema(self) -> PodSchema:
        schema = self._known_schema()
        if schema is None:
            raise CannotGather("the schema of pods is not known yet")
        return schema

    async def _denied_kinds(self, request: AdmissionRequest) -> dict[tuple[str, str], str]:
        kinds = {kind: GroupVersionKind.of(*kind) for kind in kinds_to_review(request, self.config)}
        if not kinds:
            return {}
        denied = await self._reviews.denied_creations(
            request.user, request.namespace, dict.fromkeys(kinds.values())
        )
        return {kind: denied[gvk] for kind, gvk in kinds.items() if gvk in denied}

    async def _is_platform(self, request: AdmissionRequest) -> bool:
        """True for platform users, and for service accounts of namespaces that are no team's.

        A service account in the request's own namespace is the team's: no cache is needed.
        """
        if is_platform(request.user, self.config.exemptions):
            return True
        own = service_account_namespace(request.user)
        if own is None or own == request.namespace:
            return False
        return await self._namespaces.is_team(own) is False
