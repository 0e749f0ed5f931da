"""How large an AppWrapper may be: configuration `maxObjectSize`.

Each write of its status and each event of a watch carries all of it.
"""

from collections.abc import Iterator
from typing import Final

import orjson

from shared.api.field_errors import FieldError, FieldErrorKind
from shared.api.json import JsonObject, JsonValue
from webhook.notices import Notice
from webhook.submission import Submission

_KIBIBYTE: Final = 1024
LARGE: Final = 256 * _KIBIBYTE  # bytes; above it a warning


def check_object_size(submission: Submission) -> Iterator[FieldError | Notice]:
    """As it will be stored, in JSON. The largest component is named, since that is what to cut."""
    request, limit = submission.request, submission.config.max_object_size
    if 0 < request.review_size <= min(LARGE, limit):
        return  # the review held the object, and more
    components = request.object["spec"]["components"]
    # An object that is nested too deep to be encoded was in the review all the same.
    sizes = [_size(each, request.review_size) for each in components]
    total = _size(_without_components(request.object), 0) + sum(sizes) + len(sizes) - 1
    largest = max(range(len(sizes)), key=sizes.__getitem__)
    path = f"spec.components[{largest}].template"
    if total > limit:
        detail = (
            f"the AppWrapper has {total} bytes, of which this component has {sizes[largest]}; "
            f"at most {limit} are allowed (maxObjectSize): keep data in an image or a volume"
        )
        yield FieldError(path, FieldErrorKind.TOO_LONG, detail)
    elif total > LARGE:
        yield Notice(
            f"the AppWrapper is large: {total // _KIBIBYTE} KiB, of which {path} has "
            f"{sizes[largest] // _KIBIBYTE}; every change of its status writes and sends all of "
            "it: keep data in an image or a volume"
        )


def _size(value: JsonValue, otherwise: int) -> int:
    try:
        return len(orjson.dumps(value))
    except orjson.JSONEncodeError:
        return otherwise


def _without_components(target: JsonObject) -> JsonObject:
    return {**target, "spec": {**target["spec"], "components": []}}
