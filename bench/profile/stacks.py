"""Sorts the stacks of CPU profiles into parts and functions. Pure."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple


class StackSample(NamedTuple):
    """`stack` begins with the innermost function; `weight` is in any unit."""

    stack: Sequence[str]
    weight: float


class ProgramPart(NamedTuple):
    """A part of a program: the functions whose names match `pattern`."""

    name: str
    pattern: re.Pattern[str]


OTHER: Final = "other"


def _parts(*named: tuple[str, str]) -> tuple[ProgramPart, ...]:
    return tuple(ProgramPart(name, re.compile(pattern)) for name, pattern in named)


# The API server's time by the kind of request; the first that matches any function counts.
# Go's compiler puts a handler's name into its caller's: `serveStatus.UpdateResource.func2`. Custom
# resources are served by `crdHandler`: here AppWrappers, and Kueue's Workloads and queues. A patch
# runs in a goroutine without its handler's name, so built-in and custom resources are one kind.
_CUSTOM: Final = r"crdHandler\)\.serve"
API_REQUESTS: Final = _parts(
    ("watch: send events", r"serveWatch|WatchServer"),
    ("create, custom resources", _CUSTOM + r"Resource\.Create"),
    ("create, built in", r"createHandler|CreateResource|CreateNamedResource"),
    ("update of a status, custom resources", _CUSTOM + r"Status\.Update"),
    ("update, custom resources", _CUSTOM + r"Resource\.Update"),
    ("update, built in", r"UpdateResource"),
    ("patch of a status", _CUSTOM + r"Status\.Patch|StatusREST\)\.(Update|Get)"),
    ("patch, other", r"PatchResource|\(\*patcher\)"),
    ("delete", r"Delete(Resource|Collection)"),
    ("list, open a watch", r"ListResource"),
    ("get", r"getResourceHandler|GetResource"),
    ("call validating webhooks", r"admission/plugin/webhook"),
    ("managed fields, handler unknown", r"managedfields|structured-merge"),
    (
        "before the handler: authentication, authorization, priority, audit",
        r"(endpoints|server)/(filters|filterlatency|httplog)|flowcontrol",
    ),
    ("watch cache: read etcd's events", r"storage/etcd3"),
    ("watch cache: hand out events", r"storage/cacher"),
    ("the API server's own informers", r"client-go/(tools/cache|rest/watch)"),
    ("connections: HTTP, TLS", r"net/http|golang.org/x/net/http2|crypto/tls"),
    ("etcd client", r"google\.golang\.org/grpc|etcd/client"),
    ("garbage collection", r"runtime\.(gcBgMarkWorker|bgsweep|bgscavenge)"),
    ("Go's scheduler", r"runtime\.(mcall|schedule|findRunnable|park_m|mstart|sysmon)"),
)
# Parts of our programs; the innermost function that matches counts, with what it calls.
OUR_PARTS: Final = _parts(
    ("JSON", r"orjson"),
    ("TLS", r"libssl|libcrypto|_ssl[._]|SSLProtocol|SSLObject|PySSL|\(ssl\.py"),
    ("garbage collection of Python", r"gc_collect|\bgc_"),
    ("tracing, of this profile only", r"bench/profile"),
    ("decide: controller/phases", r"\(controller/phases"),
    ("facts: controller/facts", r"\(controller/facts"),
    ("gather: controller/gather", r"\(controller/gather"),
    ("apply: controller/apply", r"\(controller/apply"),
    ("queue and workers: controller/runtime", r"\(controller/runtime"),
    ("the rest of controller", r"\(controller/"),
    ("rules: webhook/rules", r"\(webhook/(rules|chain|creation|cel)"),
    ("serving: webhook/serving", r"\(webhook/serving"),
    ("the rest of webhook", r"\(webhook/"),
    ("requests and caches: shared/kube", r"\(shared/kube/"),
    ("Kinds: shared/kinds", r"\(shared/kinds"),
    ("schema of pods: shared/pod_schema", r"\(shared/pod_schema"),
    ("injection: shared/injection", r"\(shared/injection"),
    ("objects, conditions, times: shared/api", r"\(shared/api"),
    ("the rest of shared", r"\(shared/"),
    ("HTTP client: aiohttp, yarl, multidict", r"aiohttp|yarl|multidict"),
    ("HTTP server: uvicorn, FastAPI", r"uvicorn|starlette|fastapi|httptools"),
    ("logs and metrics", r"\(logging/|prometheus_client"),
    ("system calls", r"^(__)?(libc_)?(send|recv|read|write|epoll|poll)\w* \(libc"),
    ("event loop: asyncio, uvloop", r"uvloop|loop\.c:|asyncio|\(core\.c|libuv|\(stream\.c"),
)  # fmt: skip
# `main` contains all others.
OURS: Final = re.compile(r"^(?!main |<module>).*\((controller|webhook|shared)/")
# py-spy cannot always see that a thread waits: for events, or for work.
_WAITING: Final = re.compile(r"^epoll_pwait |SimpleQueue_get|PyThread_acquire_lock")
NONE_OF_OURS: Final = "none: event loop, TLS, HTTP"


def by_any(samples: Iterable[StackSample], parts: Sequence[ProgramPart]) -> dict[str, float]:
    """Adds up weights: a stack belongs to the first part that any of its functions matches."""
    found: defaultdict[str, float] = defaultdict(float)
    for stack, weight in samples:
        text = "\n".join(stack)
        name = next((part.name for part in parts if part.pattern.search(text)), OTHER)
        found[name] += weight
    return found


def by_innermost(samples: Iterable[StackSample], parts: Sequence[ProgramPart]) -> dict[str, float]:
    """Adds up weights: a stack belongs to the part of its innermost function that has one."""
    found: defaultdict[str, float] = defaultdict(float)
    for stack, weight in samples:
        matching = (part.name for frame in stack for part in parts if part.pattern.search(frame))
        found[next(matching, OTHER)] += weight
    return found


def by_function(samples: Iterable[StackSample]) -> dict[str, float]:
    """Adds up weights by our innermost function, with what it calls in libraries."""
    found: defaultdict[str, float] = defaultdict(float)
    for stack, weight in samples:
        innermost = next((frame for frame in stack if OURS.search(frame)), NONE_OF_OURS)
        found[re.sub(r":\d+\)$", ")", innermost)] += weight
    return found


def within_functions(samples: Iterable[StackSample]) -> dict[str, float]:
    """Adds up weights by each of our functions on a stack: callers include what they call."""
    found: defaultdict[str, float] = defaultdict(float)
    for stack, weight in samples:
        ours = {re.sub(r":\d+\)$", ")", frame) for frame in stack if OURS.search(frame)}
        for function in ours:
            found[function] += weight
    return found


def folded(text: str) -> list[StackSample]:
    """Reads what `py-spy record --format raw` writes: `outer;inner COUNT` in each line.

    Samples of waiting threads are left out.
    """
    samples = []
    for line in text.splitlines():
        frames, _, count = line.rpartition(" ")
        stack = frames.split(";")[::-1]
        if not any(map(_WAITING.search, stack)):
            samples.append(StackSample(stack, float(count)))
    return samples
