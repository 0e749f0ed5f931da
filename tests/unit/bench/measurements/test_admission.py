import base64

import orjson
import pytest

from bench.measurements.admission import patch_summary
from shared.api.objects import JsonObject


def answer(*paths: str) -> JsonObject:
    patch = [{"op": "add", "path": path, "value": 1} for path in paths]
    return {"response": {"patch": base64.b64encode(orjson.dumps(patch)).decode()}}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"response": {"allowed": True}}, "no patch"),
        (answer(), "no patch"),
        (answer("/a"), "1 patch operation (add /a)"),
        (answer("/a", "/b", "/c"), "3 patch operations (add /a, add /b, add /c)"),
        (answer("/a", "/b", "/c", "/d"), "4 patch operations (add /a, add /b, add /c, …)"),
    ],
)
def test_patch_summary(given: JsonObject, text: str) -> None:
    assert patch_summary(given) == text
