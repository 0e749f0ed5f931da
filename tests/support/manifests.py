"""Reads manifests as the tests of deploy/ and samples/ need them."""

from pathlib import Path

import yaml

from shared.api.objects import JsonObject

ROOT = Path(__file__).resolve().parents[2]
MANIFESTS = ROOT / "deploy" / "manifests"
CERTS = ROOT / "deploy" / "certs"
CHART = ROOT / "deploy" / "chart"
TEAM = ROOT / "deploy" / "team"
SAMPLES = ROOT / "samples"
CRD_FILE = MANIFESTS / "crd" / "appwrappers.workload.codeflare.dev.yaml"


def documents(file: Path) -> list[JsonObject]:
    """Returns the objects of one YAML file."""
    return [document for document in yaml.safe_load_all(file.read_text()) if document is not None]


def document(file: Path) -> JsonObject:
    """Returns the only object of a YAML file."""
    (only,) = documents(file)
    return only


def objects_under(folder: Path) -> list[JsonObject]:
    """Returns the objects of all YAML files below a folder, without kustomize's own files."""
    files = sorted(folder.rglob("*.yaml"))
    return [
        one
        for file in files
        for one in documents(file)
        if "kustomize.config.k8s.io" not in str(one.get("apiVersion"))
    ]


def served_schema(crd: JsonObject, version: str) -> JsonObject:
    """Returns the openAPIV3Schema of one version of a CustomResourceDefinition."""
    (schema,) = (
        one["schema"]["openAPIV3Schema"]
        for one in crd["spec"]["versions"]
        if one["name"] == version
    )
    found: JsonObject = schema
    return found
