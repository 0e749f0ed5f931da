"""The parts of values: texts with their rules, quantities, and the items of lists."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from cli.generation.nodes import Node, Path
from cli.generation.shapes import (
    Amount,
    Findings,
    Flag,
    ListOf,
    Record,
    Text,
    entry,
)
from shared.api.objects import JsonObject

_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_QUALIFIED: Final = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_DOMAIN: Final = rf"{_LABEL}(?:\.{_LABEL})*"

TEXT: Final = Text("a text that is not empty")
JOB_NAME: Final = Text(
    "at most 50 lower-case letters, digits and hyphens, the first a letter, the last no hyphen,"
    " such as my-job",
    r"[a-z](?:[-a-z0-9]*[a-z0-9])?",
    50,
)
DNS_LABEL: Final = Text(
    "at most 63 lower-case letters, digits and hyphens, no hyphen at either end, such as my-team",
    _LABEL,
    63,
)
OBJECT_NAME: Final = Text(
    "the name of an object: lower-case letters, digits, hyphens and dots, such as my-config",
    _DOMAIN,
    253,
)
LABEL_KEY: Final = Text(
    "a label's key: at most 63 letters, digits and -_. after an optional domain and /,"
    " such as project-name or example.com/project",
    rf"(?:(?=[^/]{{1,253}}/){_DOMAIN}/)?{_QUALIFIED}",
)
LABEL_VALUE: Final = Text(
    "a label's value: at most 63 letters, digits and -_. with a letter or digit at both ends",
    rf"(?:{_QUALIFIED})?",
    written=True,
)
RESOURCE: Final = Text(
    "the name of an extended resource with its domain, such as nvidia.com/roce_gdr",
    rf"(?=[^/]{{1,253}}/){_DOMAIN}/{_QUALIFIED}",
)
VARIABLE: Final = Text("a variable's name without = and blanks, such as LOG_LEVEL", r"[!-<>-~]+")
MOUNT_PATH: Final = Text("a path in the container, without a colon, such as /data", "[^:]+")
CPUS: Final = Amount("a quantity of CPUs that is not negative, such as 4, 0.5 or 500m")
MEMORY: Final = Amount(
    "a quantity of memory of at least 1Mi, such as 1.5Gi, 200M or 1Ti", Decimal(2**20)
)
STORAGE: Final = Amount("a quantity of storage, such as 800Gi", Decimal(1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """An image pull secret."""

    name: str = entry("name", OBJECT_NAME, "Its name.", example="registry-login")


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomLabel:
    key: str = entry("key", LABEL_KEY, "The label's key.", example="project-name")
    value: str = entry("value", LABEL_VALUE, "The label's value.", example="my-project")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyOfObject:
    """One key of a Secret or ConfigMap."""

    name: str = entry("name", OBJECT_NAME, "The object's name.", example="my-object")
    key: str = entry("key", TEXT, "The key in the object.", example="token")


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRef:
    field_path: str = entry(
        "fieldPath", TEXT, "The field of the pod.", example="metadata.labels['team']"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceFieldRef:
    resource: str = entry("resource", TEXT, "The request or limit.", example="limits.memory")
    divisor: str | None = entry(
        "divisor", STORAGE, "The unit, such as 1Mi.", default=None, example="1Mi"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A variable with its `value`, or with the source of the value."""

    name: str = entry("name", VARIABLE, "The variable's name.", example="LOG_LEVEL")
    value: str | None = entry(
        "value",
        Text("a text, a number, true or false", r"[\s\S]*", written=True),
        'The value, as text. Write an empty value as "".',
        default=None,
        example="debug",
    )
    secret: KeyOfObject | None = entry(
        "secret",
        Record(KeyOfObject),
        "One key of a Secret.",
        default=None,
        example="{name: my-secret, key: token}",
    )
    configmap: KeyOfObject | None = entry(
        "configmap",
        Record(KeyOfObject),
        "One key of a ConfigMap.",
        default=None,
        example="{name: my-config, key: mode}",
    )
    field_ref: FieldRef | None = entry(
        "fieldRef",
        Record(FieldRef),
        "A field of the pod.",
        default=None,
        example="{fieldPath: spec.nodeName}",
    )
    resource_field_ref: ResourceFieldRef | None = entry(
        "resourceFieldRef",
        Record(ResourceFieldRef),
        "A request or limit of the container.",
        default=None,
        example="{resource: limits.memory, divisor: 1Mi}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeObject:
    """All keys of a Secret or ConfigMap."""

    name: str = entry("name", OBJECT_NAME, "The object's name.", example="my-object")
    optional: bool | None = entry(
        "optional", Flag(), "true: the object may be missing.", default=None, example="true"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSource:
    secret_ref: WholeObject | None = entry(
        "secretRef", Record(WholeObject), "A Secret.", default=None, example="{name: my-secrets}"
    )
    config_map_ref: WholeObject | None = entry(
        "configMapRef",
        Record(WholeObject),
        "A ConfigMap.",
        default=None,
        example="{name: my-config}",
    )
    prefix: str | None = entry(
        "prefix", VARIABLE, "Prefix of each variable's name.", default=None, example="APP_"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GitClone:
    """A deploy key for git over ssh."""

    secret_name: str = entry(
        "secretName", OBJECT_NAME, "The Secret that holds `id_rsa`.", example="git-deploy-key"
    )
    config_map_name: str = entry(
        "configMapName",
        OBJECT_NAME,
        "The ConfigMap that holds `known_hosts`.",
        example="git-known-hosts",
    )
    secret_mount_path: str = entry(
        "secretMountPath",
        MOUNT_PATH,
        "The folder in which the Secret is mounted.",
        default="/tmp/.ssh/keys",
        example="/tmp/.ssh/keys",
    )
    config_map_mount_path: str = entry(
        "configMapMountPath",
        MOUNT_PATH,
        "The folder in which the ConfigMap is mounted.",
        default="/tmp/.ssh/hosts",
        example="/tmp/.ssh/hosts",
    )
    ssh_cmd: str | None = entry(
        "sshCmd",
        TEXT,
        "The value of GIT_SSH_COMMAND, instead of ssh with these two files.",
        default=None,
        example="ssh -i /tmp/.ssh/keys/id_rsa",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """A PersistentVolumeClaim."""

    name: str = entry("name", DNS_LABEL, "A name within the pod.", example="data")
    claim_name: str = entry(
        "claimName",
        OBJECT_NAME,
        "The PersistentVolumeClaim. Its name has no capitals: Kubernetes allows none.",
        example="my-claim",
    )
    mount_path: str = entry(
        "mountPath", MOUNT_PATH, "The folder in which it is mounted.", example="/data"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Nvme:
    storage: str = entry("storage", STORAGE, "How much storage.", example="800Gi")
    mount_path: str = entry(
        "mountPath",
        MOUNT_PATH,
        "The folder in which it is mounted.",
        default="/workspace/scratch-nvme",
        example="/workspace/scratch-nvme",
    )
    storage_class_name: str = entry(
        "storageClassName",
        OBJECT_NAME,
        "The StorageClass that provides it.",
        default="odf-lvm-vg1",
        example="odf-lvm-vg1",
    )


@dataclass(frozen=True, slots=True)
class Command:
    """The arguments of a command, or a text that sh runs."""

    def read(self, node: Node, path: Path, found: Findings) -> tuple[str, ...] | None:
        if isinstance(node.value, str):
            script = TEXT.read(node, path, found)
            return ("sh", "-c", script) if script is not None else None
        if node.value == []:
            found.invalid(node, path, 'must not be empty: write ["sh", "-c", "echo hello"]')
            return None
        return _WORDS.read(node, path, found)

    def schema(self) -> JsonObject:
        return {"anyOf": [TEXT.schema(), _WORDS.schema() | {"minItems": 1}]}


_WORDS: Final = ListOf(Text("a text", r"[\s\S]*", written=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class InitContainer:
    name: str = entry("name", DNS_LABEL, "A name within the pod.", example="prepare")
    image: str = entry("image", TEXT, "The image.", example="busybox")
    command: tuple[str, ...] = entry(
        "command",
        Command(),
        "The command with its arguments, or a text that sh runs.",
        example='["sh", "-c", "whoami && ls -l"]',
    )


@dataclass(frozen=True, slots=True)
class Labels:
    """A list of keys and values, or one mapping as in MCAD's generator."""

    def read(self, node: Node, path: Path, found: Findings) -> tuple[Any, ...] | None:
        if not isinstance(node.value, dict):
            return ListOf(Record(CustomLabel)).read(node, path, found)
        return tuple(
            CustomLabel(
                key=LABEL_KEY.read(Node(name, value.origin), (*path, name), found) or "",
                value=LABEL_VALUE.read(value, (*path, name), found) or "",
            )
            for name, value in node.value.items()
        )

    def schema(self) -> JsonObject:
        mapping = {"type": "object", "additionalProperties": LABEL_VALUE.schema()}
        return {"anyOf": [ListOf(Record(CustomLabel)).schema(), mapping]}
