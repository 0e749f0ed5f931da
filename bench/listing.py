"""`python -m bench.listing [NUMBER]`: the time of `appwrapper list`, without a cluster.

A server in this process has NUMBER AppWrappers (2,000) of an ordinary size with their Workloads.
The command runs in a process of its own, as a user starts it.
"""

import asyncio
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import orjson
from aiohttp import web

from bench.objects import NAMESPACE, QUEUE, running
from shared.api import names
from shared.api.objects import JsonObject

_ROOT: Final = Path(__file__).resolve().parent.parent
_PHASES: Final = ("Running", "Suspended", "Succeeded", "Failed")
_REASON: Final = (
    "couldn't assign flavors to pod set job-0: insufficient unused quota for nvidia.com/gpu in"
    " flavor default-flavor, 12 more needed"
)
_WAITS: Final = (
    {
        "type": "QuotaReserved",
        "status": "False",
        "reason": "Pending",
        "message": _REASON,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    },
)


def _appwrapper(number: int) -> JsonObject:
    """Return an AppWrapper of about 9 kB: a user's environment, volumes and a short script."""
    phase = _PHASES[number % len(_PHASES)]
    found = running(f"train-{number:04}", "listing", pods=16, gpus=8)
    component = found["spec"]["components"][0]
    component["podSets"] = [{"replicas": 16, "path": "template.spec.template"}]
    pod = component["template"]["spec"]["template"]["spec"]
    pod["containers"][0]["env"] = [{"name": f"OPTION_{n}", "value": "x" * 40} for n in range(30)]
    pod["containers"][0]["command"] = ["sh", "-c", "echo begins\n" * 100]
    pod["volumes"] = [
        {"name": f"data-{n}", "persistentVolumeClaim": {"claimName": f"data-{n}"}} for n in range(8)
    ]
    found["metadata"]["labels"] |= {names.LABEL_QUEUE_NAME: QUEUE, names.LABEL_USER: "alice"}
    found["metadata"] |= {
        "uid": f"uid-{number}",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": _managed_fields(),
    }
    found["spec"]["suspend"] = phase == "Suspended"
    found["status"] = {"phase": phase, "conditions": [*_WAITS], "resettingCount": 0}
    return found


def _managed_fields() -> list[JsonObject]:
    fields: JsonObject = {f"f:field-{n}": {} for n in range(60)}
    return [{"manager": f"manager-{n}", "fieldsV1": fields} for n in range(3)]


def _workload(of: JsonObject) -> JsonObject:
    own, template = of["metadata"], of["spec"]["components"][0]["template"]["spec"]["template"]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "namespace": NAMESPACE,
            "name": f"appwrapper-{own['name']}-ab12c",
            "uid": f"workload-{own['uid']}",
            "creationTimestamp": own["creationTimestamp"],
            "labels": {"kueue.x-k8s.io/job-uid": own["uid"]},
            "managedFields": own["managedFields"],
        },
        "spec": {
            "priority": 5,
            "queueName": QUEUE,
            "podSets": [{"name": "job-0", "count": 16, "template": template}],
        },
        "status": {"conditions": [*_WAITS]},
    }


def _pages(items: Sequence[JsonObject], size: int = 500) -> list[bytes]:
    """Return the encoded pages of a list, as the API server answers."""
    found = []
    for start in range(0, len(items), size):
        more = {"continue": str(start + size)} if start + size < len(items) else {}
        page = {"metadata": {"resourceVersion": "7", **more}, "items": items[start : start + size]}
        found.append(orjson.dumps({"kind": "List", "apiVersion": "v1", **page}))
    return found


@asynccontextmanager
async def _server(number: int) -> AsyncIterator[int]:
    """Serve lists and the places in the queue, inside the context. Yields the port."""
    appwrappers = [_appwrapper(each) for each in range(number)]
    workloads = [_workload(each) for each in appwrappers]
    pages = {"appwrappers": _pages(appwrappers), "workloads": _pages(workloads)}
    waiting = [
        {"metadata": {"name": each["metadata"]["name"]}, "positionInClusterQueue": place}
        for place, each in enumerate(workloads[1 :: len(_PHASES)])
    ]

    def answer(body: Any, status: int = 200) -> web.Response:
        body = body if isinstance(body, bytes) else orjson.dumps(body)
        return web.Response(body=body, status=status, content_type="application/json")

    async def served(request: web.Request) -> web.Response:
        kind = request.path.rpartition("/")[2]
        if kind in pages:
            return answer(pages[kind][int(request.query.get("continue") or 0) // 500])
        if kind == "pendingworkloads":
            return answer({"items": waiting})
        if kind.startswith("visibility."):
            return answer({"preferredVersion": {"version": "v1beta2"}})
        return answer({"kind": "Status", "code": 404, "reason": "NotFound"}, 404)

    application = web.Application()
    application.router.add_get("/{path:.*}", served)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def _kubeconfig(port: int) -> JsonObject:
    named = {"cluster": "c", "user": "u"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {**named, "namespace": NAMESPACE}}],
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }


async def _timed(kubeconfig: Path, number: int) -> tuple[float, float]:
    """Return the seconds and the CPU seconds of one run."""
    used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "cli", "list", "--kubeconfig", str(kubeconfig),
        cwd=_ROOT, env={**os.environ, "COLUMNS": "80"}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, _ = await process.communicate()
    wall, now = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode or len(out.splitlines()) != number + 1:
        raise SystemExit(f"list printed {len(out.splitlines())} lines, exit {process.returncode}")
    return wall, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime


async def main(number: int, runs: int = 7) -> None:
    """Print the median wall and CPU time, with the lowest and the highest."""
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        async with _server(number) as port:
            kubeconfig.write_text(json.dumps(_kubeconfig(port)))
            timed = [await _timed(kubeconfig, number) for _ in range(runs)]
    for what, values in zip(("wall", "CPU"), zip(*timed, strict=True), strict=True):
        middle, low, high = statistics.median(values), min(values), max(values)
        print(f"list of {number:,}: {what} {middle:.2f} s ({low:.2f}-{high:.2f})")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if sys.argv[1:] else 2_000))
