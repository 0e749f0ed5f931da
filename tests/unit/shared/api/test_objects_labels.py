import pytest

from shared.api.objects import is_dns_label, is_dns_subdomain, is_label_key, is_label_value


@pytest.mark.parametrize("text", ["", "a", "A.b_c-9", "x" * 63])
def test_label_values(text: str) -> None:
    assert is_label_value(text)


@pytest.mark.parametrize("text", ["-a", "a-", "a b", "x" * 64, "ä", "a\n", "a/b"])
def test_no_label_values(text: str) -> None:
    assert not is_label_value(text)


@pytest.mark.parametrize("text", ["a", "nvidia.com/gpu", "A_b"])
def test_label_keys(text: str) -> None:
    assert is_label_key(text)


@pytest.mark.parametrize("text", ["", "/a", "a/", "A.com/b", "a/b/c"])
def test_no_label_keys(text: str) -> None:
    assert not is_label_key(text)


@pytest.mark.parametrize(
    ("text", "label", "subdomain"),
    [
        ("a-b9", True, True),
        ("a.b", False, True),
        ("x" * 63, True, True),
        ("x" * 64, False, True),
        ("x" * 253, False, True),
        ("x" * 254, False, False),
        ("", False, False),
        ("a..b", False, False),
        ("A", False, False),
        ("a_b", False, False),
        ("-a", False, False),
        ("a\n", False, False),
    ],
)
def test_dns_names(text: str, label: bool, subdomain: bool) -> None:
    assert (is_dns_label(text), is_dns_subdomain(text)) == (label, subdomain)
