"""By which apiVersion and kind the tables of pod sets are read."""

from shared.api.json import JsonObject


def version_and_kind(template: JsonObject) -> tuple[str, str]:
    """As in the tables: `v1` in the core group, however it is written; "" for what is no text.

    The API server, and Kueue, take `/v1` for `v1`: a Pod written so would have pods that no pod
    set stands for.
    """
    api_version, kind = _text(template, "apiVersion"), _text(template, "kind")
    if api_version.startswith("/") and api_version.count("/") == 1:
        api_version = api_version[1:]
    return api_version, kind


def _text(template: JsonObject, key: str) -> str:
    value = template.get(key)
    return value if isinstance(value, str) else ""
