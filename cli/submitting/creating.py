"""Create AppWrappers, all or none, under the user's own identity. I/O only."""

from collections.abc import Sequence

from cli.cluster.connection import Cluster
from cli.cluster.reader import NO_APPWRAPPERS
from cli.command import CommandError, ExitCode
from cli.manifests.places import Place
from cli.submitting.submissions import NewAppWrapper
from cli.terminal import CommandTerminal, harmless
from cli.validation.components import ComponentFindings, component_findings
from cli.validation.fields import Corrected, corrected
from cli.validation.messages import ABOUT_CONTENT, REFUSALS, messages_of
from cli.validation.report import findings
from shared.api.objects import APPWRAPPERS, JsonObject, metadata
from shared.kube import requests
from shared.kube.client import AlreadyExists, ApiError, NotFound, Unreachable


async def create_all(
    cluster: Cluster, asked: Sequence[NewAppWrapper], warnings: list[str], terminal: CommandTerminal
) -> list[JsonObject] | None:
    """Return the created AppWrappers; None if the API server refuses one, which is reported.

    `warnings`: the list to which `cluster` adds the server's warnings. A dry run of all is first,
    so that nothing is created if one is refused. Raises CommandError, KubeError.
    """
    is_refused = False
    for each in asked:
        warnings.clear()
        sound = corrected(each.body)
        errors, is_judged = list(sound.errors), True
        try:
            await cluster.client.send(_request(cluster, each, sound.value, dry_run=True))
        except AlreadyExists as error:
            raise CommandError(
                f"{each.name} exists already in namespace {_namespace(cluster, each)}: delete it,"
                " or choose another name with --name",
                ExitCode.WANTING,
            ) from error
        except ApiError as error:
            errors += _refusals(error)
            is_judged = error.status in ABOUT_CONTENT
        heard = list(dict.fromkeys(warnings))
        wrapped = ComponentFindings()
        if is_judged:
            where = _namespace(cluster, each)
            wrapped = await component_findings(
                cluster, sound.value, where, warnings, known=errors, is_new=True
            )
        errors += wrapped.errors

        def locate(
            path: str, asked: NewAppWrapper = each, sound: Corrected = sound
        ) -> tuple[str, Place | None]:
            return asked.locate(sound.as_written(path))

        for found in findings(errors, [*heard, *wrapped.warnings], each.body, locate):
            terminal.stderr.write(f"{found}\n")
        for line in wrapped.not_checked():
            terminal.stderr.write(f"not checked: {harmless(line)}\n")
        is_refused = is_refused or bool(errors)
    return None if is_refused else [await _create(cluster, each) for each in asked]


async def _create(cluster: Cluster, asked: NewAppWrapper) -> JsonObject:
    try:
        return await cluster.client.send(_request(cluster, asked, asked.body, dry_run=False))
    except Unreachable as error:
        raise CommandError(
            f"{error}. {asked.name} may have been created: check it with appwrapper list"
            f" -n {_namespace(cluster, asked)}"
        ) from error


def _request(
    cluster: Cluster, asked: NewAppWrapper, body: JsonObject, *, dry_run: bool
) -> requests.Request:
    namespace = _namespace(cluster, asked)
    return requests.create(APPWRAPPERS, namespace, body, dry_run=dry_run, strict=True)


def _namespace(cluster: Cluster, asked: NewAppWrapper) -> str:
    return str(metadata(asked.body).get("namespace") or cluster.namespace)


def _refusals(error: ApiError) -> list[str]:
    """Return the server's messages about the object. Raises other errors."""
    if isinstance(error, NotFound) and error.of_resource:
        raise CommandError(NO_APPWRAPPERS) from error
    if error.status not in REFUSALS:
        raise error
    return list(messages_of(error))
