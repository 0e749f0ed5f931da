"""Read the overlays' configurations without pydantic.

The import of pydantic takes longer than everything else that `pack` and `validate` do. So the
loaded configurations of the overlays ship as JSON. This module reads them into plain objects with
the same fields; a test compares every field. pydantic reads any other configuration.
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
    """Return the overlay's section `appwrapper`, with its fields but without its methods."""
    found = json.loads((FOLDER / EFFECTIVE).read_text(encoding="utf-8"))
    return cast("AppWrapperConfig", _made(found[overlay]))


class _Section:
    """A section of fields. Hashable by identity, because the rules need that."""

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
