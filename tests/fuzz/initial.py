"""Inputs to begin with: real reviews, whole and in parts."""

from collections.abc import Iterator

import orjson

from tests.fuzz.seeds import appwrappers
from tests.fuzz.target import Mode, header
from tests.support.builders.admission import POD, review

_POD_KIND = {"group": "", "version": "v1", "kind": "Pod"}


def inputs() -> Iterator[bytes]:
    """One of each kind for every seed, and what seeds do not show."""
    for number, seed in enumerate(appwrappers()):
        circumstances = number % 32
        text = orjson.dumps(seed)
        yield header(Mode.BODY, circumstances) + orjson.dumps(review(seed))
        update = review(seed, old=seed, operation="UPDATE")
        yield header(Mode.BODY, circumstances) + orjson.dumps(update)
        yield header(Mode.OBJECT, circumstances) + text
        yield header(Mode.TWO_OBJECTS, circumstances) + text + b"\n" + text
        for mode in (Mode.EDITED_CREATE, Mode.EDITED_UPDATE):
            yield header(mode, circumstances) + bytes([number])
            yield header(mode, circumstances) + bytes([number + 128, 0, 0, 9, 30])
    pod = orjson.dumps(review(POD, name="p", kind=_POD_KIND, namespace="team1"))
    yield header(Mode.BODY, 4) + pod
    yield header(Mode.BODY) + pod.replace(b'"name"', b'"name":"x","name"')
    yield header(Mode.BODY) + orjson.dumps(review(None, operation="DELETE"))
    for body in (
        b"",
        b"[]",
        b"null",
        b'{"a":1,"a":2}',
        b"[" * 300 + b"]" * 300,
        b"\xff\xfe",
        b"{}\x00",
    ):
        yield header(Mode.BODY) + body
