import pytest

from shared.config.store_urls import DRIVERS, scheme_of, store_url_problem

PLAIN = "must be plain: no blanks, no query, none of # % \\ * [ ]"
BUCKET = "must name a bucket or container"
FOLDER = "must be file:/// and the absolute path of a folder"


@pytest.mark.parametrize(
    "url",
    [
        "file:///var/errors",
        "s3://bucket",
        "s3://bucket/team/errors/",
        "gs://bucket/x",
        "gcs://bucket",
        "az://container/x",
        "abfs://container@account.dfs.core.windows.net/x",
    ],
)
def test_valid_store_urls(url: str) -> None:
    assert store_url_problem(url) == ""
    assert scheme_of(url) in DRIVERS


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("errors", "must be a URL, such as s3://bucket/path"),
        ("http://host/x", "its scheme must be one of file, s3, gs, gcs, abfs, az"),
        ("memory://x", "its scheme must be one of file, s3, gs, gcs, abfs, az"),
        ("s3://b/x?key=secret", PLAIN),
        ("s3://b/x y", PLAIN),
        ("s3://b/%2e%2e", PLAIN),
        ("s3://b/\n", PLAIN),
        ("s3://b/*", PLAIN),
        (
            "s3://key:secret@host/b",
            "must have no password; the controller's own environment has the credentials",
        ),
        ("s3://b/../c", "must not go up, or stay, with '..' or '.'"),
        ("file:///a/./b", "must not go up, or stay, with '..' or '.'"),
        ("file://host/a", FOLDER),
        ("file:///", FOLDER),
        ("s3:///a", BUCKET),
    ],
)
def test_invalid_store_urls(url: str, problem: str) -> None:
    assert store_url_problem(url) == problem
