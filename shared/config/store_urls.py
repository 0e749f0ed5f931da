"""Check the URLs of error stores, and find the package that reads each of them. Pure."""

import re
from typing import Final
from urllib.parse import urlsplit

# Scheme -> the package that fsspec needs for it; empty: none, the file system. http(s) is missing:
# a web server has no reliable listing.
DRIVERS: Final = {
    "file": "",
    "s3": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "abfs": "adlfs",
    "az": "adlfs",
}
_PLAIN: Final = re.compile(r"[!-~]+")  # ASCII without blanks and control characters


def scheme_of(url: str) -> str:
    """Return the scheme of a URL without a `store_url_problem`."""
    return url.partition("://")[0]


def store_url_problem(url: str) -> str:
    """Return what is wrong with the URL of a store; empty for a valid URL.

    A password in the URL would appear in the pods' environment, in logs and in Events.
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        return "must be a URL, such as s3://bucket/path"
    if scheme not in DRIVERS:
        return f"its scheme must be one of {', '.join(DRIVERS)}"
    if not _PLAIN.fullmatch(url) or any(each in rest for each in "?#%\\*[]"):
        return "must be plain: no blanks, no query, none of # % \\ * [ ]"
    try:
        parts = urlsplit(url)
    except ValueError:
        return "must be a URL, such as s3://bucket/path"
    if ":" in parts.netloc.partition("@")[0] and "@" in parts.netloc:
        return "must have no password; the controller's own environment has the credentials"
    if {".", ".."} & set(parts.path.split("/")):
        return "must not go up, or stay, with '..' or '.'"
    if scheme == "file" and (parts.netloc or not parts.path.strip("/")):
        return "must be file:/// and the absolute path of a folder"
    if scheme != "file" and not parts.netloc:
        return "must name a bucket or container"
    return ""
