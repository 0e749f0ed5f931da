"""How large an AppWrapper may be: configuration `maxObjectSize`."""

from collections.abc import Iterator
from typing import Final

import orjson

from shared.api.admission_warning import AdmissionWarning
from shared.api.field_errors import FieldError, FieldErrorKind
from shared.api.json import JsonObject
from webhook.submission import Submission

_KIBIBYTE: Final = 1024
LARGE: Final = 256 * _KIBIBYTE  # bytes; above it a warning


def check_object_size(submission: Submission) -> Iterator[FieldError | AdmissionWarning]:
    """How large an AppWrapper may be: configuration `maxObjectSize`.

    As it will be stored, in JSON. The largest component is named, since that is what to cut.

    Each write of its status and each event of a watch carries all of it.
    """
    request, limit = submission.request, submission.config.max_object_size
    if 0 < request.review_size <= min(LARGE, limit):
        return  # the review held the object, and more
    # Encoded once, in parts: the sizes of the components come with that of the whole.
    sizes = [len(orjson.dumps(each)) for each in request.object["spec"]["components"]]
    rest = len(orjson.dumps(_without_components(request.object)))
    total = rest + sum(sizes) + len(sizes) - 1  # the commas
    largest = max(range(len(sizes)), key=sizes.__getitem__)
    path = f"spec.components[{largest}].template"
    if total > limit:
        detail = (
            f"the AppWrapper has {total} bytes, of which this component has {sizes[largest]}; "
            f"at most {limit} are allowed (maxObjectSize): keep data in an image or a volume"
        )
        yield FieldError(path, FieldErrorKind.TOO_LONG, detail)
    elif total > LARGE:
        yield AdmissionWarning(
            f"the AppWrapper is large: {total // _KIBIBYTE} KiB, of which {path} has "
            f"{sizes[largest] // _KIBIBYTE}; every change of its status writes and sends all of "
            "it: keep data in an image or a volume"
        )


def _without_components(target: JsonObject) -> JsonObject:
    return {**target, "spec": {**target["spec"], "components": []}}
