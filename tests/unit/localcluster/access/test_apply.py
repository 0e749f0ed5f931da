import re
from pathlib import Path
from typing import Any, cast

import pytest

from localcluster.access.apply import ManifestApplier, read_documents
from localcluster.machine.errors import LocalClusterError
from shared.api.objects import GroupVersionKind, JsonObject, JsonValue, Resource
from shared.kube.client import ApiError, Invalid, KubeClient, NotFound, PatchType, Unreachable

CORE = [("namespaces", "Namespace", False), ("secrets", "Secret", True)]
WIDGETS = [("widgets", "Widget", True), ("widgets/status", "Widget", True)]
DEFINITIONS = [("customresourcedefinitions", "CustomResourceDefinition", False)]


class FakeServer:
    """Serves discovery and takes what is applied; widgets only once their definition is there."""

    def __init__(self) -> None:
        self.applied: list[tuple[str, str | None, str]] = []
        self.refuse = ""
        self.looks = 0

    async def get_path(self, path: str) -> JsonObject:
        served = {"/api/v1": CORE, "/apis/apiextensions.k8s.io/v1": DEFINITIONS}
        if any(name == "widgets.example.com" for _, _, name in self.applied):
            served["/apis/example.com/v1"] = WIDGETS
        if path not in served:
            raise NotFound(404, "NotFound", path)
        return {
            "resources": [
                {"name": name, "kind": kind, "namespaced": namespaced}
                for name, kind, namespaced in served[path]
            ]
        }

    async def patch(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        body: JsonValue,
        patch_type: PatchType,
        *,
        field_manager: str,
        force: bool,
    ) -> JsonObject:
        assert (patch_type, field_manager, force) == (PatchType.APPLY, "localcluster", True)
        if name == self.refuse:
            raise Invalid(422, "Invalid", "spec.size: must be positive")
        self.applied.append((resource.plural, namespace, name))
        stored: JsonObject = body | {"stored": True}
        return stored

    async def get(self, resource: Resource, namespace: str | None, name: str) -> JsonObject:
        # A definition's conditions are null at first, then not true yet, then true.
        self.looks += 1
        statuses = [None, [{"type": "Established", "status": "False"}]]
        established = [{"type": "Established", "status": "True"}]
        seen = statuses[self.looks - 1] if self.looks <= len(statuses) else established
        return {"status": {"conditions": seen}}


def document(api_version: str, kind: str, name: str, **metadata: str) -> JsonObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name} | metadata}


WIDGET = document("example.com/v1", "Widget", "w", namespace="ns")
DEFINITION = document("apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets.example.com")
NAMESPACE = document("v1", "Namespace", "ns")
SECRET = document("v1", "Secret", "s")


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def applier(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> ManifestApplier:
    monkeypatch.setattr("localcluster.access.apply._RETRY_SECONDS", 0)
    return ManifestApplier(cast(KubeClient, server))


async def test_required_objects_are_applied_first_and_answers_are_in_order(
    server: FakeServer, applier: ManifestApplier
) -> None:
    documents = [WIDGET, SECRET, DEFINITION, NAMESPACE]
    assert await applier.apply(documents) == [each | {"stored": True} for each in documents]
    assert server.applied[:2] == [
        ("namespaces", None, "ns"),
        ("customresourcedefinitions", None, "widgets.example.com"),
    ]
    assert set(server.applied[2:]) == {("widgets", "ns", "w"), ("secrets", "default", "s")}
    assert server.looks == 3


async def test_refused_object_is_named(server: FakeServer, applier: ManifestApplier) -> None:
    server.refuse = "s"
    with pytest.raises(LocalClusterError) as caught:
        await applier.apply([document("v1", "Secret", "s", namespace="ns")])
    assert str(caught.value) == (
        "The API server refused Secret ns/s: 422 Invalid: spec.size: must be positive"
    )


async def test_kind_that_never_comes_is_named(
    applier: ManifestApplier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localcluster.access.apply._PATIENCE_SECONDS", 0)
    with pytest.raises(LocalClusterError) as caught:
        await applier.apply([WIDGET])
    assert str(caught.value) == (
        "The API server does not know example.com/v1 Widget, even after 0 s. Is its CRD applied?"
    )


async def test_subresources_are_no_resources(server: FakeServer, applier: ManifestApplier) -> None:
    await applier.apply([DEFINITION])
    found = await applier.resource_of(GroupVersionKind("example.com", "v1", "Widget"))
    assert found == Resource("example.com", "v1", "widgets", "Widget", True)


def test_documents_of_files_and_folders_in_order(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("---\nkind: B\n---\n---\nkind: C\n")
    (tmp_path / "a.yaml").write_text("kind: A\n")
    (tmp_path / "notes.txt").write_text("kind: None\n")
    assert read_documents(tmp_path, tmp_path / "a.yaml") == [
        {"kind": "A"},
        {"kind": "B"},
        {"kind": "C"},
        {"kind": "A"},
    ]


@pytest.mark.parametrize("content", [None, "kind: [A"])
def test_unreadable_manifest_is_named(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "a.yaml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(LocalClusterError) as caught:
        read_documents(path)
    assert str(caught.value).startswith(f"Cannot read the manifest {path}: ")


@pytest.mark.parametrize(
    "failure",
    [
        Unreachable("PATCH: no answer in time"),
        ApiError(500, "InternalError", 'failed calling webhook "v.kb.io": deadline exceeded'),
    ],
)
async def test_an_api_server_or_a_webhook_that_does_not_answer_in_time_is_asked_again(
    failure: Unreachable | ApiError, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localcluster.access.apply._RETRY_SECONDS", 0)

    class Slow(FakeServer):
        silent = 2

        async def patch(self, *given: Any, **named: Any) -> JsonObject:
            if self.silent:
                self.silent -= 1
                raise failure
            return await super().patch(*given, **named)

    server = Slow()
    [stored] = await ManifestApplier(cast("KubeClient", server)).apply([SECRET])
    assert (stored["stored"], server.applied) == (True, [("secrets", "default", "s")])
    monkeypatch.setattr("localcluster.access.apply._PATIENCE_SECONDS", -1.0)
    server.silent = 1
    with pytest.raises((Unreachable, LocalClusterError), match=re.escape(str(failure))):
        await ManifestApplier(cast("KubeClient", server)).apply([NAMESPACE])
