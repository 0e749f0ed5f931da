import resource

import pytest

from webhook.serving.process import use_all_descriptors

KIND = resource.RLIMIT_NOFILE


def test_the_limit_becomes_the_highest_that_is_allowed() -> None:
    before = resource.getrlimit(KIND)
    resource.setrlimit(KIND, (before[1] // 2, before[1]))
    try:
        use_all_descriptors()
        assert resource.getrlimit(KIND) == (before[1], before[1])
    finally:
        resource.setrlimit(KIND, before)


def test_without_the_right_to_raise_the_limit_the_process_continues(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("not permitted")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    use_all_descriptors()
