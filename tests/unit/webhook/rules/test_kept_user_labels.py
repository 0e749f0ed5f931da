import pytest

from tests.support.builders.admission import appwrapper, patch_of

USER = "workload.codeflare.dev/user"
USERID = "workload.codeflare.dev/userid"


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


def test_an_update_never_adds_labels_and_never_corrects_them() -> None:
    assert patch_of(appwrapper(), old=appwrapper()) == []
    other = appwrapper(labels={USER: "mallory", USERID: "0"})
    assert patch_of(other, old=appwrapper(labels={USER: "bob", USERID: "1"})) == []
