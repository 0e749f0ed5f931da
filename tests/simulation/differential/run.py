"""Run a script against an API server, simulated or real, and compare two runs."""

import asyncio
import itertools
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

from shared.api.objects import CONFIGMAPS, PODS, JsonObject, Resource
from shared.kube.client import ApiError, KubeClient, NotFound
from tests.simulation.api.kinds import PROBES
from tests.simulation.differential.normal import Normal
from tests.simulation.differential.steps import (
    AnyStep,
    Create,
    Delete,
    Gone,
    Search,
    Session,
    Step,
    Watch,
)

LABELS: Final = {"differential": "yes", "team": "x"}
"""The labels of the last object of each Kind: every watch sees it, and ends there."""
_LAST: Final = "the-end"
_POLL_SECONDS: Final = 0.1
RESOURCES: Final = (CONFIGMAPS, PODS, PROBES)


@dataclass(slots=True)
class Result:
    """The answers and watch events of one run, in the form that two servers share."""

    answers: list[JsonObject] = field(default_factory=list)
    streams: list[list[JsonObject]] = field(default_factory=list)


class Run:
    """One run of a script in one namespace."""

    def __init__(self, client: KubeClient, namespace: str) -> None:
        self._client = client
        self._session = Session(namespace)
        self._answers: list[JsonObject] = []
        self._streams: list[asyncio.Task[list[tuple[str, JsonObject]]]] = []
        self._versions: dict[Resource, str] = {}

    async def result(self, script: Sequence[AnyStep]) -> Result:
        """Run all steps one after the other, and return the result."""
        for resource in RESOURCES:
            self._versions[resource] = await self._version(resource)
        for step in script:
            self._answers.append(await self._act(step))
        for resource in RESOURCES:
            body = {"metadata": {"labels": LABELS}, **minimal(resource)}
            await self._client.send(Create(resource, _LAST, body).request(self._session))
        events = await asyncio.gather(*self._streams)
        normal = Normal(self._session.names)
        answers = [_with_form(each, normal) for each in self._answers]
        streams = [
            [{"type": kind, **normal.of(item, f"stream {number}")} for kind, item in stream]
            for number, stream in enumerate(events)
        ]
        return Result(answers, streams)

    async def _act(self, step: AnyStep) -> JsonObject:
        match step:
            case Watch():
                version = self._versions[step.resource]
                if not step.from_start:
                    version = await self._version(step.resource)
                self._streams.append(asyncio.ensure_future(self._watched(step, version)))
                return {}
            case Search():
                return {"items": await self._found(step)}
            case Gone():
                await self._until_gone(step)
                return {}
            case Step():
                return await self._sent(step)

    async def _sent(self, step: Step) -> JsonObject:
        try:
            item = await self._client.send(step.request(self._session), retry=False)
        except ApiError as error:
            return {"status": error.status, "reason": error.reason}
        if isinstance(step, Delete):
            return {"status": 200}  # the object or a Status: callers do not read it
        if not getattr(step, "metadata_only", False):
            self._session.note(step.resource, step.name, item)
        return {"status": 200, "object": item}

    async def _found(self, step: Search) -> list[JsonObject]:
        pages = self._client.pages(
            step.resource,
            self._session.namespace,
            label_selector=step.labels,
            field_selector=step.fields,
            metadata_only=step.metadata_only,
            page_size=3,
        )
        async with aclosing(pages):
            return [item async for page in pages for item in page.items]

    async def _version(self, resource: Resource) -> str:
        pages = self._client.pages(resource, self._session.namespace)
        async with aclosing(pages):
            return (await anext(pages)).resource_version

    async def _until_gone(self, step: Gone) -> None:
        while True:
            try:
                await self._client.get(step.resource, self._session.namespace, step.name)
            except NotFound:
                return
            await asyncio.sleep(_POLL_SECONDS)

    async def _watched(self, step: Watch, version: str) -> list[tuple[str, JsonObject]]:
        events = self._client.watch(
            step.resource,
            self._session.namespace,
            resource_version=version,
            label_selector=step.labels,
            field_selector=step.fields,
            metadata_only=step.metadata_only,
        )
        seen: list[tuple[str, JsonObject]] = []
        async with aclosing(events):
            async for event in events:
                if "name" not in event.object["metadata"]:
                    continue  # a bookmark
                if event.object["metadata"]["name"] == _LAST:
                    break
                seen.append((event.type.value, event.object))
        return seen


def minimal(resource: Resource, node: str = "") -> JsonObject:
    """Return the fields that a Kind requires. No scheduler binds the pod."""
    if resource != PODS:
        return {}
    bound = {"nodeName": node} if node else {}
    containers = [{"name": "main", "image": "none"}]
    return {"spec": {**bound, "schedulerName": "none", "containers": containers}}


def differences(script: Sequence[AnyStep], one: Result, other: Result) -> list[str]:
    """Return a line for each step and each stream that differs; empty if the servers agree."""
    found = [
        f"step {number} {step}:\n  {left}\n  {right}"
        for number, (step, left, right) in enumerate(
            zip(script, one.answers, other.answers, strict=True)
        )
        if left != right
    ]
    for number, (stream, others) in enumerate(zip(one.streams, other.streams, strict=True)):
        pairs = itertools.zip_longest(stream, others)
        place = next((at for at, (left, right) in enumerate(pairs) if left != right), None)
        if place is not None:
            left, right = stream[place : place + 1], others[place : place + 1]
            found.append(f"stream {number} at event {place}:\n  {left}\n  {right}")
    return found


def _with_form(answer: JsonObject, normal: Normal) -> JsonObject:
    if "object" in answer:
        return {**answer, "object": normal.of(answer["object"])}
    if "items" in answer:
        names = [item["metadata"]["name"] for item in answer["items"]]
        forms = [normal.of(item) for item in answer["items"]]
        # Generated names are in another order at each server.
        forms.sort(key=lambda form: str(form["metadata"]["name"]))
        return {**answer, "items": forms, "are in order": names == sorted(names)}
    return answer
