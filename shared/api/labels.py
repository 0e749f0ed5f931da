"""What Kubernetes accepts as labels and names."""

import re
from typing import Final

LONGEST_VALUE: Final = 63

_VALUE: Final = re.compile(r"([A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?)?")
_DNS_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_DNS_PART: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def is_label_value(text: str) -> bool:
    """Up to 63 characters of `[-_.A-Za-z0-9]`, ends alphanumeric; empty is valid."""
    return _VALUE.fullmatch(text) is not None


def is_label_key(text: str) -> bool:
    """A name like a label's value but not empty, after an optional DNS prefix and a slash."""
    prefix, slash, name = text.rpartition("/")
    if slash and not is_dns_subdomain(prefix):
        return False
    return name != "" and is_label_value(name)


def is_dns_label(text: str) -> bool:
    """RFC 1123: the names of namespaces; up to 63 characters, lower case."""
    return _DNS_LABEL.fullmatch(text) is not None


def is_dns_subdomain(text: str) -> bool:
    """RFC 1123: most objects' names; parts joined by dots, up to 253 characters."""
    return len(text) <= 253 and all(_DNS_PART.fullmatch(part) for part in text.split("."))
