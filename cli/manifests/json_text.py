"""Read JSON with the place of each key and element. Pure.

YAML contains JSON, except for surrogate pairs and a few characters, which are rewritten, and for
long keys.
"""

import re
from json import JSONDecodeError, JSONDecoder
from typing import Any, Final

from cli.manifests.places import ManifestError, Place
from cli.manifests.scalars import ScalarError
from cli.manifests.yaml_text import JsonScanner, ManifestDocument, YamlReader
from shared.api.objects import JsonValue

# An escape in a string, or a character that YAML does not allow there.
_REWRITTEN: Final = re.compile(
    r"\\u(?P<high>[dD][89abAB]..)\\u(?P<low>[dD][c-fC-F]..)|(?P<half>\\u[dD][89a-fA-F]..)|\\."
    "|(?P<raw>[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff])"
)


class _JsonReader(YamlReader):
    scanner = JsonScanner

    def scalar(self, event: Any) -> JsonValue:
        if event.implicit[0] and event.value.endswith(("NaN", "Infinity")):  # Python reads them
            raise ScalarError(f"this is not JSON: {event.value} is no number")
        return super().scalar(event)


def parse_json(text: str) -> list[ManifestDocument]:
    """Return all values of a text in order. Raises ManifestError."""
    found: list[ManifestDocument] = []
    end = 0
    while rest := text[end:].lstrip(" \t\r\n"):
        begin = len(text) - len(rest)
        try:
            _, end = JSONDecoder().raw_decode(text, begin)
        except JSONDecodeError as error:
            place = Place(error.lineno, error.colno)
            raise ManifestError(f"this is not JSON: {error.msg}", place) from error
        except RecursionError as error:
            raise ManifestError("this is nested too deep") from error
        before = re.sub(r"[^\n]", " ", text[:begin])  # so that the places stay
        found += _JsonReader().documents(before + _REWRITTEN.sub(_rewritten, text[begin:end]))
    return found


def _rewritten(found: re.Match[str]) -> str:
    if raw := found["raw"]:
        return f"\\u{ord(raw):04x}"
    if found["half"]:  # kubectl, too, reads it as the replacement character
        return "\\ufffd"
    if found["high"]:
        pair = bytes.fromhex(found["high"] + found["low"]).decode("utf-16-be")
        return f"\\U{ord(pair):08x}"
    return found[0]
