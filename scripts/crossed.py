"""Counts the product's files that one pass and one review execute: `python -m scripts.crossed`.

A reader who follows a healthy AppWrapper through the program opens as many files. The count is made
after a warm-up, and ends at the client: a fake API server answers exactly these requests. Exits
with 1 above MOST files; `--list` names them. Methods that dataclasses make and files without
running code (constants, enums) do not count.
"""

import asyncio
import logging
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Final

import httpx
import orjson

from cli.shipped.data import pod_schema
from controller.controller import Controller
from controller.runtime.workqueue import Taken, Wake
from shared.api.objects import Resource
from shared.config.configuration import Configuration
from shared.kube.client import ListPage, NotFound, WatchEvent, WatchEventType
from shared.pod_schema.pod_schema import PodSchema
from shared.process.sources import Sources
from webhook.app import MUTATE, VALIDATE, Judge, create_app
from webhook.gather.gatherer import Gatherer
from webhook.metrics import WebhookMetrics

ROOT: Final = Path(__file__).resolve().parents[1]
# By subject.
MOST: Final = {"pass": 33, "review": 27}

_PRODUCT: Final = ("controller", "shared", "webhook", "worker")
_KEY: Final = ("team1", "train")
_SECONDS: Final = 20.0
_WARM: Final = 3
_IDLE: Final = 0.5  # seconds
# No pass failed, and the counted pass reached the last check of Running.
_PASSES: Final = "controller_runtime_reconcile_total"
_LAST: Final = "controller/phases/readiness.py"
_NO_LISTENERS: Final = {
    "controllerManager": {"health": {"bindAddress": "0"}, "metrics": {"bindAddress": "0"}}
}
_Json = dict[str, Any]


class Crossed:
    """Collects the product's files in which Python code runs while it is open."""

    def __init__(self) -> None:
        self._files: set[str] = set()

    def __enter__(self) -> "Crossed":
        sys.setprofile(self._see)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _see(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            self._files.add(frame.f_code.co_filename)

    @property
    def files(self) -> list[str]:
        """Return their paths below the repository, in order."""
        below = [Path(file) for file in self._files if Path(file).is_relative_to(ROOT)]
        paths = [path.relative_to(ROOT) for path in below]
        return sorted(str(path) for path in paths if path.parts[0] in _PRODUCT)


def _metadata(name: str, owner: tuple[str, str] | None = None, **fields: Any) -> _Json:
    made = {
        "namespace": _KEY[0],
        "name": name,
        "uid": f"uid-of-{name}",
        "resourceVersion": "5",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {
            "workload.codeflare.dev/appwrapper": "train",
            "workload.codeflare.dev/uid": "uid-of-train",
            "workload.codeflare.dev/attempt": "1",
            "workload.codeflare.dev/component": "0",
        },
        **fields,
    }
    if owner is not None:
        kind, uid = owner
        made["ownerReferences"] = [{"kind": kind, "name": "train", "uid": uid, "controller": True}]
    return made


def _pod_template(container: str) -> _Json:
    requests = {"cpu": "1", "nvidia.com/gpu": "8"}
    containers = [{"name": container, "image": "trainer:1", "resources": {"limits": requests}}]
    return {"spec": {"restartPolicy": "Never", "containers": containers}}


def _appwrapper() -> _Json:
    """Return a running AppWrapper, with the status that our controller writes."""
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train-job"},
        "spec": {"parallelism": 2, "completions": 2, "template": _pod_template("main")},
    }
    component = {
        "name": "train-job",
        "apiVersion": "batch/v1",
        "kind": "Job",
        "podSets": [{"path": "template.spec.template", "replicas": 2}],
        "conditions": [{"type": "ResourcesDeployed", "status": "True"}],
    }
    return {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": _metadata("train", finalizers=["workload.codeflare.dev/finalizer"]),
        "spec": {"suspend": False, "components": [{"template": job}]},
        "status": {
            "phase": "Running",
            "attempt": 1,
            "retries": 0,
            "componentStatus": [component],
            "conditions": [
                {"type": kind, "status": "True", "reason": kind, "message": ""}
                for kind in ("QuotaReserved", "ResourcesDeployed", "PodsReady")
            ],
        },
    }


def _pod(number: int) -> _Json:
    return {
        "metadata": _metadata(f"train-{number}", ("Job", "uid-of-train-job")),
        "spec": {"nodeName": "node-1", **_pod_template("main")["spec"]},
        "status": {"phase": "Running"},
    }


class Known:
    """The client of a fake API server with one Running AppWrapper, which grants every access.

    Any other request fails and is recorded as `unexpected`. Watches have no events. `reviews`
    counts access reviews.
    """

    def __init__(self) -> None:
        self.reviews = 0
        self.unexpected: list[str] = []
        job = _metadata("train-job", ("AppWrapper", "uid-of-train"))
        self._lists: dict[str, list[_Json]] = {
            "appwrappers": [_appwrapper()],
            "pods": [_pod(0), _pod(1)],
            "jobs": [{"metadata": job, "status": {"active": 2, "ready": 2}}],
            "namespaces": [{"metadata": {**_metadata(_KEY[0]), "namespace": ""}}],
        }
        self._paths = {
            "/apis/batch/v1": _served("jobs", "Job"),
            "/apis/kubeflow.org/v1": _served("pytorchjobs", "PyTorchJob"),
            "/apis/kueue.x-k8s.io": {"versions": [{"version": "v1beta2"}]},
        }

    async def pages(self, resource: Resource, *_: Any, **__: Any) -> AsyncGenerator[ListPage, None]:
        yield ListPage(self._lists.get(resource.plural, []), "9")

    async def watch(self, *_: Any, **__: Any) -> AsyncGenerator[WatchEvent, None]:
        await asyncio.Event().wait()
        yield WatchEvent(WatchEventType.BOOKMARK, {})

    async def get(self, *_: Any, **__: Any) -> _Json:
        raise NotFound(404, "NotFound", "not found")

    async def get_path(self, path: str) -> _Json:
        return self._paths[path]

    async def post(self, path: str, body: _Json, **_: Any) -> _Json:
        assert path.endswith("/subjectaccessreviews"), path
        self.reviews += 1
        return {**body, "status": {"allowed": True}}

    def server_ahead(self) -> None:
        return None

    def __getattr__(self, method: str) -> Any:
        self.unexpected.append(method)
        raise AttributeError(method)


def _served(plural: str, kind: str) -> _Json:
    return {"resources": [{"name": plural, "kind": kind, "namespaced": True, "verbs": ["watch"]}]}


def _review() -> bytes:
    """Return a CREATE of a PyTorchJob by a user, after mutation."""
    replicas = {
        role: {"replicas": count, "template": _pod_template("pytorch")}
        for role, count in (("Master", 1), ("Worker", 3))
    }
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "train-job"},
        "spec": {"pytorchReplicaSpecs": replicas},
    }
    appwrapper = _appwrapper()
    appwrapper["spec"] = {"suspend": True, "components": [{"template": job}]}
    del appwrapper["status"]
    kind = {"group": "workload.codeflare.dev", "version": "v1beta2", "kind": "AppWrapper"}
    request = {
        "uid": "7",
        "kind": kind,
        "namespace": _KEY[0],
        "name": _KEY[1],
        "operation": "CREATE",
        "userInfo": {"username": "alice", "groups": ["system:authenticated"]},
        "object": appwrapper,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return orjson.dumps(review)


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(_SECONDS):
        while not condition():  # noqa: ASYNC110  no event reports it
            await asyncio.sleep(0.01)


def _passes(controller: Controller) -> dict[str, float]:
    """Return the number of passes by result."""
    found = next(each for each in controller._metrics.registry.collect() if each.name in _PASSES)
    return {each.labels["result"]: each.value for each in found.samples if each.name == _PASSES}


async def _until_idle(controller: Controller) -> None:
    """Wait until the passes end: the first lists enqueue the key, and its component's watches do
    too.
    """
    before: dict[str, float] = {}
    async with asyncio.timeout(_SECONDS):
        while (seen := _passes(controller)) != before or not sum(seen.values()):
            before = seen
            await asyncio.sleep(_IDLE)


async def crossed_by_a_pass() -> list[str]:
    """Count one Running AppWrapper, a Job of two healthy pods: from worker to outcome."""
    client: Any = Known()
    controller = Controller(
        client, Configuration.model_validate(_NO_LISTENERS), sources=Sources.of_the_machine()
    )
    stop = asyncio.Event()
    running = asyncio.create_task(controller.run(stop))
    try:
        await _until(lambda: controller._appwrappers.synced and controller._pods.synced)
        await _until_idle(controller)  # no key has two passes at once
        for _ in range(_WARM):
            await controller._workers.work_on(Taken(_KEY, Wake.CHANGE, 0.0))
        with Crossed() as crossed:
            await controller._workers.work_on(Taken(_KEY, Wake.CHANGE, 0.0))
    finally:
        stop.set()
        await running
    if client.unexpected:
        raise RuntimeError(f"a pass over a healthy AppWrapper asked for {client.unexpected}")
    errors = _passes(controller)["error"]
    if errors != 0.0 or _LAST not in crossed.files:
        raise RuntimeError(f"no healthy pass: {errors} failed, and it crossed {crossed.files}")
    return crossed.files


class _Schemas:
    """Pod schemas as if the API server had published them."""

    def __init__(self) -> None:
        self._schema = PodSchema(pod_schema().definitions)

    def current(self) -> PodSchema:
        return self._schema


async def crossed_by_a_review() -> list[str]:
    """Count one CREATE of a PyTorchJob through /validate, which checks its user's rights."""
    client: Any = Known()
    config = Configuration().appwrapper
    gatherer = Gatherer(client, Sources.of_the_machine(), config, _Schemas())
    judge, metrics = Judge(gatherer), WebhookMetrics({MUTATE: (), VALIDATE: ()})
    app = create_app(judge.mutate, judge.validate, gatherer.problem, metrics)
    watching = asyncio.create_task(gatherer.run())
    await _until(lambda: gatherer.problem() is None)
    sent = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://webhook")
    async with sent as caller:
        for _ in range(_WARM):
            await caller.post(VALIDATE, content=_review())
        before = client.reviews
        with Crossed() as crossed:
            answer = await caller.post(VALIDATE, content=_review())
    watching.cancel()
    if client.reviews != before + 1 or not answer.json()["response"]["allowed"]:
        raise RuntimeError(f"after {client.reviews} access reviews: {answer.text}")
    return crossed.files


def offences(counted: Mapping[str, Sequence[str]]) -> list[str]:
    """Return one line per subject that executes too many files."""
    return [
        f"a healthy {name} crosses {len(files)} files, the limit is {MOST[name]}"
        for name, files in counted.items()
        if len(files) > MOST[name]
    ]


def main(arguments: Sequence[str]) -> int:
    """Print the counts; the exit code is 1 if one exceeds MOST."""
    logging.disable()
    counted = {
        "pass": asyncio.run(crossed_by_a_pass()),
        "review": asyncio.run(crossed_by_a_review()),
    }
    if "--list" in arguments:
        for name, files in counted.items():
            print(f"{name}: {len(files)} files", *files, sep="\n  ")
    found = offences(counted)
    for text in found:
        print(text, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
