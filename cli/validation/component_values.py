"""Check names and amounts of components as the API server does for their Kinds. Pure.

For a validation without a cluster, and for users who may not create the components: then no dry
run has the API server check these.
"""

from collections.abc import Iterator
from typing import Final

from shared.api.objects import JsonObject, JsonValue, is_dns_subdomain, metadata
from shared.api.quantities import QuantityError, parse_quantity
from shared.kinds.kind import ROOT, PodSetError, template_at
from shared.kinds.table import pod_sets_once_admitted

# The names in this group may have capitals and colons.
_OTHER_NAMES: Final = "rbac.authorization.k8s.io/"
# Kubernetes' own resources are these, and all without a domain.
_NATIVE: Final = "kubernetes.io/"


def value_errors(appwrapper: JsonObject) -> Iterator[str]:
    """Yield an error for each wrong name of a component and each fraction of a device."""
    for index, component in enumerate(_list(appwrapper.get("spec"), "components")):
        template = component.get(ROOT) if isinstance(component, dict) else None
        if not isinstance(template, dict):
            continue  # the webhook reports it
        place, name = f"spec.components[{index}]", metadata(template).get("name")
        if isinstance(name, str) and name and not _is_name(name, template):
            yield (
                f'{place}.{ROOT}.metadata.name: Invalid value: "{name}": write up to 253 lower-case'
                " letters, digits, '-' and '.', with a letter or digit at both ends of each part"
            )
        try:
            for path in dict.fromkeys(each.path for each in pod_sets_once_admitted(component)):
                yield from _fractions(template_at(template, path).get("spec"), f"{place}.{path}")
        except PodSetError:
            continue  # the webhook reports it


def _is_name(name: str, template: JsonObject) -> bool:
    has_other_names = str(template.get("apiVersion")).startswith(_OTHER_NAMES)
    return has_other_names or is_dns_subdomain(name)


def _fractions(pod: JsonValue, place: str) -> Iterator[str]:
    for field in ("initContainers", "containers"):
        for index, container in enumerate(_list(pod, field)):
            resources = container.get("resources") if isinstance(container, dict) else None
            for kind in ("limits", "requests"):
                amounts = resources.get(kind) if isinstance(resources, dict) else None
                for name, amount in amounts.items() if isinstance(amounts, dict) else ():
                    if "/" in name and _NATIVE not in name and _is_fraction(amount):
                        where = f"{place}.spec.{field}[{index}].resources.{kind}[{name}]"
                        yield f'{where}: Invalid value: "{amount}": must be a whole number'


def _is_fraction(amount: JsonValue) -> bool:
    try:
        number = parse_quantity(amount)
    except QuantityError:
        return False  # the webhook reports it
    return number != number.to_integral_value()


def _list(value: JsonValue, key: str) -> list[JsonValue]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []
