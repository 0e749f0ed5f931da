"""Runs one of our programs and records each request and watch event: who sent it, and its bytes.

`python -m bench.profile.tracing FILE PROGRAM ARGUMENT…` writes one JSON object per line to FILE.
The product itself has no hooks: this program wraps the two functions through which all requests
and all events pass, and reads the cause from the stack of Python's frames.
"""

import runpy
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import orjson

from shared.api.objects import JsonObject
from shared.kube import responses
from shared.kube.client import WatchEvent
from shared.kube.connection import ApiAnswer, ApiConnection
from shared.kube.credentials import Identity
from shared.kube.requests import Request
from shared.process.clock import SystemClock

_ROOT = Path(__file__).resolve().parents[2]
_ROOMS = tuple(f"{_ROOT / room}/" for room in ("controller", "webhook", "shared"))
# They send every request and cause none.
_CARRIERS = tuple(
    str(_ROOT / "shared" / "kube" / f"{module}.py")
    for module in ("client", "connection", "http_client")
)


def cause_of(frame: FrameType | None) -> tuple[str, str]:
    """Returns the function that caused a request, and the phase of its pass if it is in one."""
    function, phase = "", ""
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(_ROOMS) and code.co_filename not in _CARRIERS:
            function = function or code.co_qualname
            if code.co_qualname == "Reconciler.reconcile":
                reads = frame.f_locals.get("reads")
                phase = reads.appwrapper.status.get("phase") or "new" if reads else ""
        frame = frame.f_back
    return function or "the program", phase


def detail_of(request: Request) -> JsonObject:
    """Returns a write's content: the status's phase and conditions, or the Event's reason."""
    if request.body is None or request.method == "DELETE":
        return {}
    path = request.target.partition("?")[0]
    if path.endswith("/events"):
        return {"reason": orjson.loads(request.body).get("reason", "")}
    if not path.endswith("/status"):
        return {}
    status = orjson.loads(request.body).get("status") or {}
    conditions = status.get("conditions") or ()
    return {
        "phase": status.get("phase", ""),
        "conditions": {each["type"]: f"{each['status']}/{each['reason']}" for each in conditions},
    }


def record(write: Callable[[JsonObject], None]) -> None:
    """Wraps the client's two functions; `write` receives one object per request or event."""
    send, watch_event, clock = ApiConnection.send, responses.watch_event, SystemClock()

    async def sent(
        self: ApiConnection, request: Request, identity: Identity, **options: Any
    ) -> ApiAnswer:
        function, phase = cause_of(sys._getframe(1))
        at, began = clock.now().timestamp(), time.perf_counter()
        answer = None
        try:
            answer = await send(self, request, identity, **options)
            return answer
        finally:
            write(
                {
                    "at": at,
                    "seconds": time.perf_counter() - began,
                    "verb": request.method,
                    "path": request.target.partition("?")[0],
                    "function": function,
                    "phase": phase,
                    "detail": detail_of(request),
                    "sent": len(request.body or b""),
                    "received": len(answer.body) if answer else 0,
                    "code": answer.status if answer else 0,
                }
            )

    def received(line: bytes) -> WatchEvent:
        event = watch_event(line)
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_name != "watch":
            frame = frame.f_back
        write(
            {
                "at": clock.now().timestamp(),
                "verb": "WATCH",
                "path": frame.f_locals["resource"].plural if frame else "",
                "type": event.type.value,
                "received": len(line),
            }
        )
        return event

    ApiConnection.send = sent  # type: ignore[method-assign]
    responses.watch_event = received


def main() -> None:
    """Runs the program as `python -m` would."""
    _, file, program, *arguments = sys.argv
    lines = Path(file).open("a", buffering=1)  # noqa: SIM115  open until the process ends

    def write(found: JsonObject) -> None:
        lines.write(orjson.dumps(found | {"program": program}).decode() + "\n")

    record(write)
    sys.argv = [program, *arguments]
    runpy.run_module(program, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
