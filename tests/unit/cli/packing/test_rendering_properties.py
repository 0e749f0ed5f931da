"""Whatever manifests go in come out unchanged inside, after a YAML round trip."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from cli.manifests.manifest import manifests_of
from cli.manifests.writing import as_yaml
from cli.manifests.yaml_text import parse_yaml
from cli.packing.assembling import assemble
from cli.packing.rendering import render
from cli.packing.wrapping import wrapping
from shared.api.objects import JsonObject
from shared.config.configuration import AllowedKinds
from webhook.rules.json_patch import is_identical

NASTY = [
    *[
        "on",
        "off",
        "y",
        "N",
        "yes",
        "null",
        "~",
        "",
        "true",
        "1e3",
        "0777",
        "0o17",
        "0x1F",
        "1_000",
    ],
    *["1:30", "2026-01-02", ".5", "-.inf", ".nan", "+1", "1.0", "08", "9999999999999999999999"],
    *["- a", "a: b", "# c", "a #b", "*a", "&a", "!t", "%YAML", "---", "...", "<<", "=", "@", "`"],
    *["{", "[", "'", '"', "a\nb", "a\n", "\na", " a", "a ", "a \n", "\t", "a\tb", "\n", "  a\n b"],
    *["a\r\nb", "\x85", "\u2028", "\ufeff", "\x00", "\x7f", "😀", "é", "#!/bin/sh\nset -e\n"],
    *["x\n\n\ny", "|", ">", "?", "? a", "a:", ":a", "\\", "\u0800", "a\n---\nb", "a\n...\nb\n"],
]
TEXTS = st.sampled_from(NASTY) | st.text(st.characters(codec="utf-8"), max_size=8)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda each: each % 1 != 0)
    | TEXTS
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.lists(
    st.fixed_dictionaries({"data": VALUES, "more": VALUES}), min_size=1, max_size=4
).map(
    lambda bodies: [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{index}"}, **body}
        for index, body in enumerate(bodies)
    ]
)


def as_list(objects: list[JsonObject]) -> JsonObject:
    return {"apiVersion": "v1", "kind": "List", "items": objects}


WAYS = {
    "json": lambda objects: json.dumps(objects[0]),
    "indented json": lambda objects: json.dumps(objects[0], indent="\t", ensure_ascii=False),
    "json documents": lambda objects: "\n".join(json.dumps(each) for each in objects),
    "json list": lambda objects: json.dumps(as_list(objects), indent=2),
    "yaml": lambda objects: "---\n".join(as_yaml(each) for each in objects),
    "commented yaml": lambda objects: "".join(
        f"# before\n--- # here\n# above\n\n{as_yaml(each)}# below\n" for each in objects
    ),
    "yaml of windows": lambda objects: "---\n".join(as_yaml(each) for each in objects).replace(
        "\n", "\r\n"
    ),
    "yaml list": lambda objects: as_yaml(as_list(objects)),
    "list of lists": lambda objects: as_yaml(as_list([as_list(objects), as_list([])])),
    "ends marked": lambda objects: "".join(
        f"%YAML 1.1\n---\n{as_yaml(each)}...\n" for each in objects
    ),
}


@example(
    [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "more": ["\n"]}],
    "indented json",
)
@example(
    [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "c"},
            "data": {"a\nb": "c\nd"},
        }
    ],
    "json",
)
@given(OBJECTS, st.sampled_from(sorted(WAYS)))
def test_packed_manifests_are_unchanged(objects: list[JsonObject], way: str) -> None:
    text = WAYS[way](objects)
    sent = objects if way not in ("json", "indented json") else objects[:1]
    manifests = manifests_of(text, "x.yaml")
    assert is_identical([each.value for each in manifests], sent)
    packed, _ = render(assemble(manifests, wrapping(name="packed"), AllowedKinds()))
    (document,) = parse_yaml(packed)
    components = document.value["spec"]["components"]
    assert is_identical([each["template"] for each in components], sent)
    for each in manifests:
        assert each.text is None or _is_verbatim(each.text, packed)


def _is_verbatim(text: str, packed: str) -> bool:
    moved = "".join(f"      {line}" if line != "\n" else line for line in text.splitlines(True))
    return moved in packed
