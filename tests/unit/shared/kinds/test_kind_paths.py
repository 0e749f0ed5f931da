import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.kinds.kind import PodSetPathError, _remembered, elements_of, template_at, value_at

TEMPLATE = {
    "kind": "Thing",
    "metadata": {"name": "n"},
    "spec": {
        "text": "x",
        "none": None,
        "flag": True,
        "count": 3,
        "list": [{"template": {"spec": {"containers": []}}}, [{"spec": {}}]],
    },
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("template", TEMPLATE),
        ("template.spec.list[0].template", {"spec": {"containers": []}}),
        ("template.spec.list[1][0]", {"spec": {}}),
        ("template.spec.list[01][0]", {"spec": {}}),
    ],
)
def test_a_path_leads_to_the_object_itself(path: str, expected: object) -> None:
    assert template_at(TEMPLATE, path) == expected


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "the path must start with 'template'"),
        ("spec.template", "the path must start with 'template'"),
        ("templates", "after 'template': 's' is neither '.key' nor '[n]'"),
        ("template.", "after 'template': '.' is neither '.key' nor '[n]'"),
        ("template..spec", "after 'template': '..spec' is neither '.key' nor '[n]'"),
        ("template.missing", "template has no field 'missing'"),
        ("template.metadata", "template.metadata has no spec object, so it is not a pod template"),
        ("template.spec.text", "template.spec.text is a string, not a pod template"),
        ("template.spec.list", "template.spec.list is an array, not a pod template"),
        ("template.spec.none.x", "template.spec.none is null, not an object"),
        ("template.spec.flag.x", "template.spec.flag is a boolean, not an object"),
        ("template.spec.count[0]", "template.spec.count is a number, not an array"),
        ("template.spec.list.x", "template.spec.list is an array, not an object"),
        ("template[0]", "template is an object, not an array"),
        ("template.spec.list[10]", "template.spec.list has 2 elements, so there is no [10]"),
        (
            "template.spec.list[-1]",
            "after 'template.spec.list': index '-1' is not a number from 0",
        ),
        (
            "template.spec.list[a10]",
            "after 'template.spec.list': index 'a10' is not a number from 0",
        ),
        ("template.spec.list[]", "after 'template.spec.list': index '' is not a number from 0"),
        (
            "template.spec.list[1",
            "after 'template.spec.list': '[1' is neither '.key' nor '[n]'",
        ),
        (
            "template.spec.list[0]]",
            "after 'template.spec.list[0]': ']' is neither '.key' nor '[n]'",
        ),
        (
            "template.spec.list[9999999999]",
            "after 'template.spec.list': index '9999999999' is not a number from 0",
        ),
    ],
)
def test_the_error_of_a_wrong_path_names_the_missing_field(path: str, message: str) -> None:
    with pytest.raises(PodSetPathError) as error:
        template_at(TEMPLATE, path)
    assert str(error.value) == message


_HOSTILE = st.lists(
    st.one_of(
        st.sampled_from(["template", ".", "[", "]", ".spec", ".list", "[0]", "[1]", "[٣]", "\x00"]),
        st.text(max_size=4),
    ),
    max_size=8,
).map("".join)


@given(_HOSTILE | _HOSTILE.map(lambda text: "template" + text))
def test_any_text_gives_an_object_or_a_path_error(path: str) -> None:
    try:
        found = template_at(TEMPLATE, path)
    except PodSetPathError:
        return
    assert isinstance(found["spec"], dict)


@pytest.mark.parametrize(
    "path", ["template.", "template[", "template.key.", "template.x", "template[x]", ""]
)
def test_a_message_is_short_however_long_the_path(path: str) -> None:
    long = f"{path}{'k' * 10_000}"
    for one in (long, long + "]", long + ".x", long.replace("template", "template.key")):
        with pytest.raises(PodSetPathError) as error:
            value_at({"key": {}}, one)
        assert len(str(error.value)) < 500


def test_only_short_paths_are_remembered() -> None:
    """Users declare paths of any length, and the cache keeps a thousand."""
    for length, more in ((200, 1), (201, 0)):
        path = "template." + "k" * (length - len("template."))
        kept = _remembered.cache_info().misses
        assert list(elements_of(path)) == [path.removeprefix("template.")]
        assert _remembered.cache_info().misses == kept + more
