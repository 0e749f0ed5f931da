"""What is fuzzed: one input, from bytes to kept promises.

The first byte says how the rest is meant (see Mode) and under which circumstances it is judged.
"""

from enum import IntEnum
from functools import cache
from typing import Any

import orjson

from shared.api.objects import JsonObject
from shared.config.configuration import AllowedKinds
from tests.fuzz.edits import can_be_sent, edited
from tests.fuzz.promises import (
    as_kueue_holds,
    as_kueue_starts,
    check_any,
    check_creation,
    check_replay,
    check_update,
    is_appwrapper,
)
from tests.fuzz.seeds import appwrappers
from tests.support.builders.admission import review
from tests.support.builders.autopilot import SEEDS as TAINTS
from tests.support.builders.autopilot import config as autopilot_config
from tests.support.builders.pod_schema import POD_SCHEMA
from tests.support.fakes.in_process_webhook import InProcessWebhook
from webhook.rules.submission import Facts


class Mode(IntEnum):
    """What follows the first byte."""

    BODY = 0  # a whole HTTP body
    OBJECT = 1  # an object to create, as JSON
    TWO_OBJECTS = 2  # an object as stored, a line break, and the same as an UPDATE sends it
    EDITED_CREATE = 3  # the number of a seed, and a program of edits
    EDITED_UPDATE = 4  # the same; from 128 on the seed runs, before it waits


_FIRST = 0x20  # so that the first byte of most inputs can be read
_CIRCUMSTANCES = 32


def header(mode: Mode, circumstances: int = 0) -> bytes:
    """The first byte of an input."""
    return bytes([_FIRST + mode + len(Mode) * circumstances])


def meaning_of(first: int) -> tuple[Mode, int]:
    """What the first byte of an input says."""
    circumstances, mode = divmod((first - _FIRST) % 256, len(Mode))
    return Mode(mode), circumstances % _CIRCUMSTANCES


def run(app: InProcessWebhook, data: bytes) -> None:
    """Raises whatever is wrong: a broken promise, or an error out of the webhook."""
    if not data:
        return
    mode, circumstances = meaning_of(data[0])
    app.know(facts(circumstances))
    rest = data[1:]
    match mode:
        case Mode.BODY:
            check_any(app, rest)
        case Mode.OBJECT:
            _run_creation(app, _agreeing(review(_decoded(rest))))
        case Mode.TWO_OBJECTS:
            before, _, sent = rest.partition(b"\n")
            made = review(_decoded(sent), old=_decoded(before), operation="UPDATE")
            check_update(app, _agreeing(made))
        case Mode.EDITED_CREATE if rest:
            _run_creation(app, _agreeing(_edited(review(_seed(rest[0])), rest[1:])))
        case Mode.EDITED_UPDATE if rest:
            stored = _stored(app, rest[0], circumstances)
            made = review(stored, old=stored, operation="UPDATE")
            check_update(app, _agreeing(_edited(made, rest[1:])))


def _run_creation(app: InProcessWebhook, made: JsonObject) -> None:
    stored = check_creation(app, made)
    if stored is not None and is_appwrapper(made):
        check_replay(app, made, stored)


@cache
def facts(circumstances: int) -> Facts:
    """Five circumstances, a bit each."""
    config = autopilot_config(*TAINTS, scheduler_name="gang")
    changes: dict[str, Any] = {}
    if circumstances & 1:
        changes["default_queue_name"] = "default-queue"
        changes["default_queue_name_on_direct_kinds"] = True
    if circumstances & 2:
        changes["grace_period_maximum_policy"] = "Reject"
    if circumstances & 16:
        changes["max_object_size"] = 2000
        changes["allowed_kinds"] = AllowedKinds(wrapped=("*",))
    return Facts(
        config.model_copy(update=changes),
        pod_schema=POD_SCHEMA,
        is_team_namespace=bool(circumstances & 4),
        is_admin=bool(circumstances & 8),
        denied_kinds={("batch/v1", "Job"): "no"} if circumstances & 16 else {},
    )


def _seed(number: int) -> JsonObject:
    seeds = appwrappers()
    return seeds[number % len(seeds)]


_remembered: dict[tuple[int, int], JsonObject] = {}


def _stored(app: InProcessWebhook, number: int, circumstances: int) -> JsonObject:
    """A seed as it comes out of a CREATE; as it is where that is refused."""
    key = (number, circumstances)
    if key not in _remembered:
        seed = _seed(number % 128)
        made = check_creation(app, review(seed)) or seed
        _remembered[key] = as_kueue_starts(made) if number >= 128 else as_kueue_holds(made)
    return _remembered[key]


def _edited(made: JsonObject, program: bytes) -> JsonObject:
    request = made["request"]
    parts = {key: request[key] for key in ("object", "oldObject", "userInfo")}
    changed = edited(parts, program)
    return {**made, "request": {**request, **changed}} if isinstance(changed, dict) else made


def _agreeing(made: JsonObject) -> JsonObject:
    """The request says of its object what that says of itself: else little would be judged."""
    request = made["request"]
    target = request["object"]
    if not isinstance(target, dict) or not isinstance(target.get("metadata"), dict):
        return made
    api_version, kind = str(target.get("apiVersion", "")), target.get("kind")
    group, _, version = api_version.rpartition("/")
    agreed = {
        "kind": {"group": group, "version": version, "kind": kind},
        "name": target["metadata"].get("name", ""),
        "namespace": target["metadata"].get("namespace", "team1"),
    }
    return {**made, "request": {**request, **agreed}}


def _decoded(text: bytes) -> Any:
    """None for what is no JSON, and for what nobody could send as a part of a review."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if can_be_sent(value) else None
