"""Pod templates are decoded as strictly as the API server decodes pods."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from shared.api.field_errors import FieldError, FieldErrorKind
from shared.api.json import JsonObject
from shared.kinds.paths import ROOT, template_at
from shared.kinds.pod_set import PodSetError, PodSetPathError, declared_pod_sets
from shared.kinds.table import inferred_pod_sets
from shared.pod_schema.mistakes import Mistake
from shared.pod_schema.pod_schema import PodSchema
from webhook.components import Component
from webhook.submission import Submission

# A component's mistakes told in full, and those that are counted: a hostile template can have a
# million, and looking at each would keep everybody else waiting.
_SHOWN: Final = 20
_COUNTED: Final = 1000


def check_pod_templates(submission: Submission) -> Iterator[FieldError]:
    """Pod templates are decoded as strictly as the API server decodes pods.

    Every pod template that a pod set names, with its metadata and spec.

    What cannot be found at all is `pod_set_paths`' to report. Raises RuntimeError without a schema:
    what cannot be judged does not get in.

    A misspelt field would otherwise be dropped without a word when the pods are created: a memory
    limit that is none, an affinity that binds nothing. And Kueue cannot read a template at all that
    has a field or a type it does not expect: it would report that on its own side, again and again.
    """
    schema = submission.facts.pod_schema
    if schema is None:
        raise RuntimeError("pod templates were to be judged without knowing the schema of pods")
    for component in submission.components:
        mistakes = _mistakes(component, schema)
        for path, mistake in islice(mistakes, _SHOWN):
            yield mistake.error(path)
        more = sum(1 for _ in islice(mistakes, _COUNTED - _SHOWN))
        if more:
            count = f"at least {more}" if more == _COUNTED - _SHOWN else str(more)
            detail = f"its pod templates have {count} more fields that cannot be decoded"
            yield FieldError(f"{component.path}.template", FieldErrorKind.INVALID, detail)


def _mistakes(component: Component, schema: PodSchema) -> Iterator[tuple[str, Mistake]]:
    """The mistakes of all pod templates of a component, each with the path of its template.

    Where Kueue infers the pod sets, only its own count: others are refused elsewhere.
    """
    try:
        inferred = inferred_pod_sets(component.template)
        pod_sets = declared_pod_sets(component.raw) if inferred is None else inferred
    except PodSetError:
        return
    seen: set[int] = set()
    for pod_set in pod_sets:
        try:
            found = template_at(component.template, pod_set.path)
        except PodSetPathError:
            continue
        if id(found) in seen:
            continue
        seen.add(id(found))
        if inferred is None:
            mistakes = _mistakes_of_declared(found, schema)
        elif pod_set.path == ROOT:
            mistakes = schema.pod_mistakes(found)
        else:
            mistakes = schema.template_mistakes(found)
        for mistake in mistakes:
            yield f"{component.path}.{pod_set.path}", mistake


def _mistakes_of_declared(found: JsonObject, schema: PodSchema) -> Iterator[Mistake]:
    """In a Kind that nobody here knows, a path may lead to more than a pod template.

    The Go operator allows that, too.
    """
    known: JsonObject = {part: found[part] for part in ("metadata", "spec") if part in found}
    return schema.template_mistakes(known)
