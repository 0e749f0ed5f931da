"""Start the recorder in the pods of AppWrappers that ask for it by their annotation. Pure.

An init container copies the recorder from the operator's `recorderImage` into a volume, and the
first container's command runs under it. The init container asks for no more than that container, so
the quota of the pod stays the same.
"""

from pathlib import PurePosixPath
from posixpath import normpath
from typing import Any, Final

from shared.api.objects import JsonObject
from shared.injection.fields import objects_in

NAME: Final = "appwrapper-recorder"  # of the init container and of the volume
MOUNTED_AT: Final = "/opt/appwrapper"
_SOURCE: Final = "/app/worker"  # as in the controller's own image
_COPIES: Final = ["cp", "-R", _SOURCE, MOUNTED_AT]
_STARTS: Final = ["python3", f"{MOUNTED_AT}/worker", "--"]
_COUNTED: Final = ("cpu", "memory")  # an init container needs no device
# Of the container's own securityContext: a pod may have to name a user that is not root.
_USER: Final = ("runAsUser", "runAsGroup", "runAsNonRoot")


def inject_recorder(pod_template: JsonObject, image: str, path: str) -> None:
    """Change `pod_template`, the caller's own copy. A second call changes nothing.

    A first container without a command runs as before: only its image knows what it starts. So does
    one that mounts something at the recorder's place, above it or below: its user may have mounted
    the recorder by hand, and a read-only volume has no place for a mount inside. Raise
    InjectionConflict for a field of a wrong type. `path`: the template's.
    """
    spec, here = pod_template["spec"], f"{path}.spec"
    containers = objects_in(spec, "containers", here)
    init_containers = objects_in(spec, "initContainers", here)
    if not containers or any(each.get("name") == NAME for each in init_containers):
        return
    first, at = containers[0], f"{here}.containers[0]"
    mounts = objects_in(first, "volumeMounts", at)
    command = first.get("command")
    if not isinstance(command, list) or not command or any(map(_overlaps, mounts)):
        return
    mount = {"name": NAME, "mountPath": MOUNTED_AT}
    first["command"] = [*_STARTS, *command]
    first["volumeMounts"] = [*mounts, {**mount, "readOnly": True}]
    spec["volumes"] = [*objects_in(spec, "volumes", here), {"name": NAME, "emptyDir": {}}]
    spec["initContainers"] = [_copying(first, image, mount), *init_containers]


def _overlaps(mount: JsonObject) -> bool:
    there, here = mount.get("mountPath"), PurePosixPath(MOUNTED_AT)
    if not isinstance(there, str):
        return False
    other = PurePosixPath("/", normpath(there).lstrip("/"))
    return here.is_relative_to(other) or other.is_relative_to(here)


def _copying(first: JsonObject, image: str, mount: JsonObject) -> JsonObject:
    """Return the init container. Pod Security `restricted` allows it where it allows `first`."""
    user = _part(first.get("securityContext"), _USER)
    resources = first.get("resources")
    asked = resources if isinstance(resources, dict) else {}
    amounts = {key: _part(asked.get(key), _COUNTED) for key in ("requests", "limits")}
    return {
        "name": NAME,
        "image": image,
        "command": [*_COPIES],
        "resources": {key: value for key, value in amounts.items() if value},
        "volumeMounts": [mount],
        "securityContext": {
            **user,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


def _part(found: Any, keys: tuple[str, ...]) -> JsonObject:
    """Return these keys of a JSON object, {} of anything else."""
    return {key: found[key] for key in keys if key in found} if isinstance(found, dict) else {}
