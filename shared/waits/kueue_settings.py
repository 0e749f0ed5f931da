"""Determine from Kueue's configuration whether it manages AppWrappers in a namespace. Pure."""

import json
from collections.abc import Iterable
from typing import Final

import yaml

from shared.api.objects import CONFIGMAPS, JsonObject
from shared.api.objects import labels as labels_of
from shared.config.configuration import LabelSelector, LabelSelectorRequirement

NAME: Final = "kueue-manager-config"
KEY: Final = "controller_manager_config.yaml"
RESOURCE: Final = CONFIGMAPS
FRAMEWORK: Final = "workload.codeflare.dev/appwrapper"
# Kueue's defaults.
_LABEL_NAME: Final = "kubernetes.io/metadata.name"
_NAMESPACE: Final = "kueue-system"
_SERVICE_ACCOUNT: Final = "system:serviceaccount:"


def namespaces(quota_managers: Iterable[str]) -> tuple[str, ...]:
    """Return the namespaces that may be Kueue's: those of exemptions.quotaManagers, then its own.

    A manager that is no ServiceAccount names no namespace.
    """
    accounts = (
        each.removeprefix(_SERVICE_ACCOUNT).partition(":")[0]
        for each in quota_managers
        if each.startswith(_SERVICE_ACCOUNT)
    )
    return tuple(dict.fromkeys((*accounts, _NAMESPACE)))


def unmanaged_because(config_map: object, namespace: object) -> str:
    """Return why Kueue ignores AppWrappers of the namespace, as the end of a sentence.

    Return "" without proof: an unreadable configuration proves nothing.
    """
    if not isinstance(config_map, dict):
        return ""
    settings = settings_of(config_map)
    if isinstance(settings, str):
        return ""
    own = (config_map.get("metadata") or {}).get("namespace", _NAMESPACE)
    if isinstance(namespace, dict) and (why := _not_selected(settings, namespace, own)):
        return why
    if _leaves_appwrappers_alone(settings.get("integrations")):
        return f"integrations.frameworks of Kueue's configuration lacks {FRAMEWORK}"
    return ""


def _leaves_appwrappers_alone(integrations: object) -> bool:
    """True if Kueue and every other operator ignore AppWrappers.

    Without a list Kueue manages Jobs only. An external framework's operator may make Workloads.
    """
    if not isinstance(integrations, dict):
        return integrations is None
    frameworks, others = integrations.get("frameworks"), integrations.get("externalFrameworks")
    if frameworks is not None and not isinstance(frameworks, list):
        return False
    return FRAMEWORK not in (frameworks or ()) and not others


def _not_selected(settings: JsonObject, namespace: JsonObject, own: str) -> str:
    name, labels = str(namespace["metadata"]["name"]), labels_of(namespace)
    written = settings.get("managedJobsNamespaceSelector")
    if written is None:
        return f"Kueue manages no jobs in namespace {name}" if name in ("kube-system", own) else ""
    selector = selector_of(written)
    if selector is None:
        return ""
    if selector.matches({_LABEL_NAME: name, **labels}):
        return ""
    wanted = [f"{key}={value}" for key, value in selector.match_labels.items()]
    wanted += [_words_of(each) for each in selector.match_expressions]
    asks = ", ".join(wanted)
    return (
        f"namespace {name} does not match Kueue's managedJobsNamespaceSelector,"
        f" which asks for the labels {asks}"
    )


def _words_of(each: LabelSelectorRequirement) -> str:
    values = f" ({', '.join(each.values)})" if each.values else ""
    return f"{each.key} {each.operator}{values}"


def selector_of(written: object) -> LabelSelector | None:
    """Return the parsed selector; None if it is none."""
    try:
        return LabelSelector.model_validate_json(json.dumps(written, default=str))
    except ValueError:
        return None


def settings_of(config_map: JsonObject) -> JsonObject | str:
    """Return Kueue's configuration in its ConfigMap; why it is unusable, as a text, if it is."""
    text = (config_map.get("data") or {}).get(KEY)
    if not isinstance(text, str):
        return f"has no {KEY}"
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return f"is not YAML: {error}"
    return found if isinstance(found, dict) else "is empty"
