from typing import Any

import jsonpatch
import pytest

from tests.support.builders.admission import appwrapper, patch_of, warnings_of

USER = "workload.codeflare.dev/user"
USERID = "workload.codeflare.dev/userid"
BY = "workload.codeflare.dev/submitted-by"


@pytest.mark.parametrize("sent", [None, {}, {"team": "a"}])
def test_an_update_cannot_drop_the_labels(sent: dict[str, str] | None) -> None:
    old = appwrapper(labels={USER: "bob", USERID: ""})
    patch = patch_of(appwrapper(labels=sent), old=old)
    if sent is None:
        assert patch == [
            {"op": "add", "path": "/metadata/labels", "value": {USER: "bob", USERID: ""}}
        ]
    else:
        assert patch == [
            {"op": "add", "path": "/metadata/labels/workload.codeflare.dev~1user", "value": "bob"},
            {"op": "add", "path": "/metadata/labels/workload.codeflare.dev~1userid", "value": ""},
        ]


def stored(**annotations: str) -> dict[str, Any]:
    made = appwrapper(labels={USER: "bob", USERID: "1"})
    made["metadata"]["annotations"] = {BY: "bob", **annotations}
    return made


def never(group: str, key: str, kept: str) -> str:
    return (
        f"metadata.{group}[{key}]: {kept}: who submitted an AppWrapper never changes; "
        "remove it from the file"
    )


def test_an_update_that_names_another_user_is_corrected_with_a_warning() -> None:
    sent = appwrapper(labels={USER: "mallory", USERID: "0"})
    sent["metadata"]["annotations"] = {BY: "mallory"}
    assert jsonpatch.apply_patch(sent, patch_of(sent, old=stored())) == stored()
    assert warnings_of(sent, old=stored()) == [
        never("labels", USER, 'reset to "bob"'),
        never("labels", USERID, 'reset to "1"'),
        never("annotations", BY, 'reset to "bob"'),
    ]


def test_the_exact_name_is_restored_without_a_warning() -> None:
    sent = stored(note="x")
    del sent["metadata"]["annotations"][BY]
    assert jsonpatch.apply_patch(sent, patch_of(sent, old=stored())) == stored(note="x")
    assert warnings_of(sent, old=stored()) == []


def test_an_update_adds_nothing_to_what_was_stored_without() -> None:
    """By the Go operator the annotation, by nobody the labels."""
    assert patch_of(appwrapper(), old=appwrapper()) == []
    sent = appwrapper(labels={USER: "mallory"})
    sent["metadata"]["annotations"] = {BY: "mallory"}
    made = jsonpatch.apply_patch(sent, patch_of(sent, old=appwrapper()))
    assert made["metadata"]["labels"] == made["metadata"]["annotations"] == {}
    assert warnings_of(sent, old=appwrapper()) == [
        never("labels", USER, "removed"),
        never("annotations", BY, "removed"),
    ]
