"""Each program may do what its code asks of the API server, and nothing else.

The requests are read out of the code: every call of a client's method that is one. So a right that
is missing, or that nothing uses, is found before any cluster. That they really suffice is shown by
the integration tests, where both programs run under these roles.
"""

import ast
import importlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import controller.rbac
import webhook.rbac
from controller.gather.component_caches import UNWATCHED
from controller.gather.owned_objects import _ANYTHING
from shared.api.objects import (
    CONFIGMAPS,
    MUTATING_WEBHOOK_CONFIGURATIONS,
    NAMESPACES,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    Resource,
)
from shared.api.rbac import Role
from shared.config.configuration import AllowedKinds
from shared.injection.component import ComponentIdentity
from shared.kinds.table import KINDS
from shared.kube.client import KubeClient
from tests.support.manifests import ROOT
from webhook.gather import access_reviews

# Verb, group, resource or resource/subresource.
Right = tuple[str, str, str]
VERBS = {
    "get": ("get",),
    "pages": ("list",),
    "watch": ("watch",),
    "create": ("create",),
    "update": ("update",),
    "patch": ("patch",),
    "delete": ("delete",),
    "Informer": ("list", "watch"),
}
# They name no object. A path is checked one by one; what every identity may read needs no right.
BY_PATH = {"post", "get_path"}
NO_REQUEST = {"close", "on_answer", "server_ahead"}
# What all others are built on. A program does not call it: what it asks for could not be read here.
BUILT_ON = {"send", "chunks", "channels"}
PROGRAMS = {"controller": controller.rbac.ROLES, "webhook": webhook.rbac.ROLES}


class Kind(NamedTuple):
    group: str
    plural: str


def kinds(resources: Iterable[Resource]) -> set[Kind]:
    return {Kind(each.group, each.plural) for each in resources}


def wrapped(left_out: frozenset[str] = frozenset()) -> set[Kind]:
    """What may be wrapped by default."""
    found = set()
    for entry in AllowedKinds().wrapped:
        group, _, kind = entry.rpartition("/")
        if kind not in left_out:
            found.add(Kind(group, f"{kind.lower()}s"))
    return found


WRAPPED = wrapped()
MAKERS = kinds(maker.resource for each in KINDS for maker in each.makers)
DEPENDANTS = kinds(each for owned in (*(kind.owns for kind in KINDS), _ANYTHING) for each in owned)
CONFIGURATIONS = kinds((MUTATING_WEBHOOK_CONFIGURATIONS, VALIDATING_WEBHOOK_CONFIGURATIONS))
SECRETS = {Kind("", "secrets")}
# Of Kueue's API, in the version that it serves.
CLUSTER_QUEUES = Kind("kueue.x-k8s.io", "clusterqueues")
LOCAL_QUEUES = Kind("kueue.x-k8s.io", "localqueues")
RESOURCE_FLAVORS = Kind("kueue.x-k8s.io", "resourceflavors")
KUEUES_WORKLOADS = Kind("kueue.x-k8s.io", "workloads")
# Where the resource is a variable: by module and by what stands there. A new one fails the test.
VARIABLES = {
    ("controller.apply.creator", "resource"): WRAPPED,
    ("controller.apply.deleter", "target.resource"): WRAPPED | MAKERS,
    ("controller.gather.owned_objects", "left.resource"): WRAPPED | MAKERS,
    ("controller.gather.component_caches", "resource"): wrapped(UNWATCHED),
    ("controller.gather.component_reads", "resource"): WRAPPED,
    ("controller.gather.owned_objects", "resource"): DEPENDANTS | MAKERS,
    ("controller.gather.kueue_caches", "resource"): {
        KUEUES_WORKLOADS,
        LOCAL_QUEUES,
        CLUSTER_QUEUES,
    },
    ("controller.gather.queue_watch", "source"): {
        LOCAL_QUEUES,
        CLUSTER_QUEUES,
        *kinds((CONFIGMAPS, NAMESPACES)),
    },
    ("webhook.tls.self_managed", "stored.resource"): CONFIGURATIONS | SECRETS,
    ("webhook.tls.self_managed", "configuration.resource"): CONFIGURATIONS,
    ("webhook.tls.self_managed", "resource"): CONFIGURATIONS | SECRETS,
}
# What the API server asks itself while it judges a create (OwnerReferencesPermissionEnforcement).
BY_ADMISSION: dict[str, set[Right]] = {
    "controller": {("update", "workload.codeflare.dev", "appwrappers/finalizers")},
    "webhook": set(),
}
# Parts of shared/ with requests of their own, by who runs them. The informer's own are counted
# where one is made.
SHARED = {
    "controller": ("shared/kube/events.py", "shared/kube/discovery.py"),
    "webhook": ("shared/kube/discovery.py",),
}


class Request(NamedTuple):
    """A call in the code. `resource` is its first argument, or the second of an Informer."""

    module: str
    line: int
    method: str
    resource: str
    subresource: str


def files(program: str) -> list[Path]:
    return [*sorted((ROOT / program).rglob("*.py")), *(ROOT / each for each in SHARED[program])]


def requests(program: str) -> list[Request]:
    return [each for file in files(program) for each in requests_in(file)]


def requests_in(file: Path) -> Iterator[Request]:
    module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call) and (method := method_of(node)):
            named = {each.arg: each.value for each in node.keywords}
            place = 1 if method == "Informer" else 0
            sub = named.get("subresource")
            yield Request(
                module,
                node.lineno,
                method,
                ast.unparse(node.args[place]) if len(node.args) > place else "",
                ast.literal_eval(sub) if sub is not None else "",
            )


def method_of(call: ast.Call) -> str | None:
    """Of a client; "Informer" where one is made; None: it is no request."""
    match call.func:
        case ast.Name(id="Informer"):
            return "Informer"
        case ast.Attribute(value=receiver, attr=method) if is_client(receiver):
            return method if method not in NO_REQUEST else None
    return None


def is_client(receiver: ast.expr) -> bool:
    return ast.unparse(receiver).split(".")[-1] in ("client", "_client")


def rights(program: str) -> set[Right]:
    """What the code of a program asks for."""
    found = set(BY_ADMISSION[program])
    for request in requests(program):
        if request.method not in BY_PATH:
            for kind in kinds_of(request):
                resource = "/".join(filter(None, (kind.plural, request.subresource)))
                found |= {(verb, kind.group, resource) for verb in VERBS[request.method]}
    return found | {("create", *reviewed) for reviewed in posted(program)}


def kinds_of(request: Request) -> set[Kind]:
    if (request.module, request.resource) in VARIABLES:
        return VARIABLES[request.module, request.resource]
    module: ModuleType = importlib.import_module(request.module)
    constant: Any = getattr(module, request.resource, None)
    assert isinstance(constant, Resource), (
        f"{request.module}:{request.line} asks for {request.resource}: say what that is, VARIABLES"
    )
    return kinds([constant])


def posted(program: str) -> Iterator[Kind]:
    for request in requests(program):
        if request.method == "post":
            assert (request.module, request.resource) == ("webhook.gather.access_reviews", "PATH")
            _, apis, group, _, plural = access_reviews.PATH.split("/")
            assert apis == "apis"
            yield Kind(group, plural)


def granted(roles: tuple[Role, ...]) -> set[Right]:
    return {
        (verb, rule.group, resource)
        for role in roles
        for rule in role.rules
        for resource in rule.resources
        for verb in rule.verbs
    }


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_right_is_used_and_every_request_allowed(program: str) -> None:
    may = granted(PROGRAMS[program])
    asks = rights(program)
    assert sorted(asks - may) == [], "the code asks for it, rbac.py does not list it"
    assert sorted(may - asks) == [], "rbac.py lists it, no code asks for it"


def test_components_block_the_deletion_of_their_appwrapper() -> None:
    """Which is what BY_ADMISSION is for."""
    identity = ComponentIdentity(namespace="n", name="a", uid="u", attempt=1, component=0)
    assert identity.owner_reference["blockOwnerDeletion"] is True


def test_the_tables_list_no_right_twice() -> None:
    for roles in PROGRAMS.values():
        for role in roles:
            assert len(granted((role,))) == sum(
                len(rule.resources) * len(rule.verbs) for rule in role.rules
            )


def test_every_request_of_a_client_is_known() -> None:
    """A method that is new, or a client under another name, would not be looked at."""
    methods = {name for name in vars(KubeClient) if not name.startswith("_")}
    assert methods == (set(VERBS) - {"Informer"}) | BY_PATH | NO_REQUEST | BUILT_ON
    for program in PROGRAMS:
        assert {each.method for each in requests(program)} <= set(VERBS) | BY_PATH


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_client_has_no_other_name(program: str) -> None:
    """Every parameter and attribute of that type is called so."""
    for file in files(program):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.arg) and "KubeClient" in annotation(node):
                assert node.arg == "client", f"{file}:{node.lineno}"
            if isinstance(node, ast.Assign) and ast.unparse(node.value) in ("client", "_client"):
                names = {ast.unparse(each).split(".")[-1] for each in node.targets}
                assert names <= {"client", "_client"}, f"{file}:{node.lineno}"


def annotation(parameter: ast.arg) -> str:
    return "" if parameter.annotation is None else ast.unparse(parameter.annotation)


def test_no_entry_for_a_variable_is_left_over() -> None:
    used = {(each.module, each.resource) for program in PROGRAMS for each in requests(program)}
    assert [each for each in VARIABLES if each not in used] == []


def test_shared_parts_that_make_requests_are_known() -> None:
    """Who runs them is said in SHARED; informers are counted where they are made."""
    asking = {
        str(file.relative_to(ROOT))
        for file in sorted((ROOT / "shared").rglob("*.py"))
        if list(requests_in(file))
    }
    listed = {each for files in SHARED.values() for each in files}
    assert asking == listed | {"shared/kube/informer.py"}
