import pytest

from bench.profile.stacks import (
    API_REQUESTS,
    NONE_OF_OURS,
    OTHER,
    OUR_PARTS,
    StackSample,
    by_any,
    by_function,
    by_innermost,
    folded,
    within_functions,
)

_FINISHER = "k8s.io/apiserver/pkg/endpoints/handlers/finisher.finishRequest.func1"
_CRD = "k8s.io/apiextensions-apiserver/pkg/apiserver.(*crdHandler)."
# Names as Kubernetes 1.37 has them.
STATUS_UPDATE = [
    "encoding/json.Marshal",
    f"{_CRD}serveStatus.UpdateResource.func2.5",
    _FINISHER,
]
EVENT_CREATE = [
    "runtime.mallocgc",
    "k8s.io/apiserver/pkg/endpoints/handlers.CreateResource.createHandler.func1.2",
    _FINISHER,
]
WATCH_EVENTS = [
    "crypto/tls.(*Conn).Write",
    "k8s.io/apiserver/pkg/endpoints/handlers.(*WatchServer).HandleHTTP",
    "k8s.io/apiserver/pkg/endpoints/handlers.ListResource.func1",
    "net/http.(*conn).serve",
]
_PATCHER = "k8s.io/apiserver/pkg/endpoints/handlers.(*patcher).patchResource.func2"
POD_STATUS_PATCH = [
    "k8s.io/kubernetes/pkg/registry/core/pod/storage.(*StatusREST).Update",
    _PATCHER,
    _FINISHER,
]
FINALIZER_PATCH = [
    "k8s.io/apiserver/pkg/registry/generic/registry.(*Store).Update",
    _PATCHER,
    _FINISHER,
]

WRITE_STATUS = "Applier._write_status (controller/apply/applier.py:126)"
SEND = "ApiConnection.send (shared/kube/connection.py:124)"
MAIN = "main (controller/main.py:52)"
LOOP = "Loop__run (loop.c:20313)"


@pytest.mark.parametrize(
    ("stack", "kind"),
    [
        (STATUS_UPDATE, "update of a status, custom resources"),
        (EVENT_CREATE, "create, built in"),
        (WATCH_EVENTS, "watch: send events"),
        (POD_STATUS_PATCH, "patch of a status"),
        (FINALIZER_PATCH, "patch, other"),
        (["runtime.main"], OTHER),
    ],
)
def test_kind_of_request(stack: list[str], kind: str) -> None:
    assert by_any([StackSample(stack, 2.0)], API_REQUESTS) == {kind: 2.0}


@pytest.mark.parametrize(
    ("stack", "part"),
    [
        (["orjson_dumps (orjson.so)", SEND, WRITE_STATUS, LOOP, MAIN], "JSON"),
        (["replace (dataclasses.py:1490)", WRITE_STATUS, LOOP], "apply: controller/apply"),
        (["_ssl__SSLSocket_read_impl (_ssl.c:2505)", LOOP, MAIN], "TLS"),
        (["Handle__run (loop.c:70905)", LOOP, MAIN], "event loop: asyncio, uvloop"),
        (["0x7f50 (libc.so.6)"], OTHER),
    ],
)
def test_part_of_our_programs(stack: list[str], part: str) -> None:
    assert by_innermost([StackSample(stack, 1.0)], OUR_PARTS) == {part: 1.0}


def test_a_function_has_the_time_of_the_libraries_it_calls() -> None:
    samples = [
        StackSample(["orjson_dumps (orjson.so)", SEND, WRITE_STATUS, MAIN], 3.0),
        StackSample([WRITE_STATUS.replace("126", "130"), MAIN], 1.0),
        StackSample([LOOP, MAIN], 2.0),
    ]
    send, write = (each.rpartition(":")[0] + ")" for each in (SEND, WRITE_STATUS))
    assert by_function(samples) == {send: 3.0, write: 1.0, NONE_OF_OURS: 2.0}
    assert within_functions(samples) == {send: 3.0, write: 4.0}


def test_waiting_threads_are_no_samples() -> None:
    text = "main (a.py:1);f (b.py:2) 3\nmain (a.py:1);epoll_pwait (libc.so.6) 200\n"
    assert folded(text) == [StackSample(["f (b.py:2)", "main (a.py:1)"], 3.0)]
