"""The overlays' configurations, ready to be read by rules.

pydantic takes longer to import than everything else that `pack` and `validate` do. So what it makes
of the overlays' files ships as JSON, and is read into plain objects with the same fields. A test
compares every field. Another configuration is read by pydantic, as by the webhook.
"""

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, cast

from cli.shipped.data import FOLDER

if TYPE_CHECKING:
    from shared.config.configuration import AppWrapperConfig

EFFECTIVE: Final = "configurations.json"
SECTION: Final = "$section"
SECONDS: Final = "$seconds"


def shipped_configuration(overlay: str) -> "AppWrapperConfig":
    """Its section `appwrapper`. It has fields only: no method of a configuration."""
    found = json.loads((FOLDER / EFFECTIVE).read_text(encoding="utf-8"))
    return cast("AppWrapperConfig", _made(found[overlay]))


class _Section:
    """Fields by name. Hashable, by identity, as rules need it."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


def _made(value: Any) -> Any:
    match value:
        case {"$section": fields}:
            return _Section(**{name: _made(each) for name, each in fields.items()})
        case {"$seconds": seconds}:
            return timedelta(seconds=seconds)
        case dict():
            return {key: _made(each) for key, each in value.items()}
        case list():
            return tuple(map(_made, value))
    return value
