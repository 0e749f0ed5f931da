"""Bring the answers of two API servers into one form: no UIDs, versions, times and random names.

A UID becomes the n-th one of its name, a version the n-th one of its object. Equal forms then show
that the servers also agree about which requests changed nothing.
"""

from typing import Final

from shared.api.objects import JsonObject, JsonValue

_TIMES: Final = ("creationTimestamp", "deletionTimestamp")
# The real API server sets many more defaults in pods; no actor reads them.
_POD_SPEC: Final = ("nodeName", "terminationGracePeriodSeconds")


class Normal:
    """The forms of one run. Objects of answers come first, in order, then those of the streams."""

    def __init__(self, names: dict[str, str]) -> None:
        """`names` are the script's names of objects, and their actual names."""
        self._names = {actual: name for name, actual in names.items()}
        self._uids: dict[str, str] = {}
        self._made: dict[str, int] = {}
        self._versions: dict[tuple[str, str], dict[str, int]] = {}

    def of(self, item: JsonObject, place: str = "answers") -> JsonObject:
        """Return the form of an object. Its versions are counted in each `place` alone."""
        meta = self._metadata(item["metadata"], place)
        spec, status = item.get("spec") or {}, item.get("status") or {}
        if "containers" in spec:
            kept = {key: spec[key] for key in _POD_SPEC if key in spec}
            return {"metadata": meta, "spec": kept, "phase": status.get("phase")}
        return {**item, "metadata": meta}

    def _metadata(self, meta: JsonObject, place: str) -> JsonObject:
        actual: str = meta["name"]
        name = self._names.get(actual, actual)
        uid = self._uid(meta["uid"], name)
        form: JsonObject = {key: value for key, value in meta.items() if key != "managedFields"}
        form.update(name=name, uid=uid, namespace="namespace")
        versions = self._versions.setdefault((place, uid), {})
        number = versions.setdefault(meta["resourceVersion"], len(versions) + 1)
        form["resourceVersion"] = f"version {number}"
        form.update((key, "a time") for key in _TIMES if key in meta)
        if "ownerReferences" in meta:
            owners: list[JsonValue] = meta["ownerReferences"]
            form["ownerReferences"] = [
                {**each, "uid": self._uid(each["uid"], each["name"])} for each in owners
            ]
        return form

    def _uid(self, uid: str, name: str) -> str:
        if uid not in self._uids:
            self._made[name] = self._made.get(name, 0) + 1
            self._uids[uid] = f"{name}: {self._made[name]}"
        return self._uids[uid]
