"""Write objects as text. Parsers of YAML 1.1 and 1.2 read the same values."""

import io
import re
from typing import Any, Final

from shared.api.objects import JsonValue

# Texts that every version of YAML reads as text. All others are quoted.
_PLAIN: Final = re.compile(r"[A-Za-z][-A-Za-z0-9_./]*")
_WORDS: Final = frozenset(
    {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"}
)
_NEVER: Final = 1 << 30  # lines are not folded: a program may search for a text within one line


def as_yaml(value: JsonValue) -> str:
    """Return block YAML. Texts of several lines are blocks; shared parts are repeated."""
    from ruamel.yaml import YAML
    from ruamel.yaml.representer import SafeRepresenter

    class Quoting(SafeRepresenter):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    Quoting.add_representer(str, _represent)
    yaml = YAML(typ="safe", pure=True)
    yaml.Representer = Quoting
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.allow_unicode = True
    yaml.width = _NEVER
    stream = io.StringIO()
    yaml.dump(value, stream)
    return stream.getvalue()


def _represent(representer: Any, text: str) -> Any:
    # Blocks that begin with blanks or end with empty lines are not read the same everywhere.
    is_block = "\n" in text and not text[0].isspace() and not text.endswith("\n\n")
    if is_block and all(each.isprintable() or each in "\n\t" for each in text):
        style = "|"
    elif _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        style = None
    else:
        style = '"'
    return representer.represent_scalar("tag:yaml.org,2002:str", text, style=style)
