"""An AppWrapper as text. Whatever reads it, YAML 1.1 or 1.2, reads the same texts."""

import io
import json
import re
from typing import Any, Final

from shared.api.objects import JsonObject

# Texts that no version of YAML takes for anything else; all others are put in quotes.
_PLAIN: Final = re.compile(r"[A-Za-z][-A-Za-z0-9_./]*")
_WORDS: Final = frozenset(
    {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"}
)
_NEVER: Final = 1 << 30  # lines are not folded: a program may look for what stands in one


def as_text(appwrapper: JsonObject, output: str) -> str:
    """JSON or YAML, as `output` says. Scripts are blocks in YAML."""
    if output == "json":
        return json.dumps(appwrapper, indent=2, ensure_ascii=False) + "\n"
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
    yaml.dump(appwrapper, stream)
    return stream.getvalue()


def _represent(representer: Any, text: str) -> Any:
    # Of what begins with a tab, ruamel.yaml makes blocks that kubectl cannot read.
    is_block = "\n" in text and text[0] != "\t"
    if is_block and all(each.isprintable() or each in "\n\t" for each in text):
        style = "|"
    elif _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        style = None
    else:
        style = '"'
    return representer.represent_scalar("tag:yaml.org,2002:str", text, style=style)
