"""Which queue and finalizer an AppWrapper gets, and how its submitter is written down."""

from collections.abc import Iterator

from shared.api.names import FINALIZER
from shared.api.objects import JsonObject
from tests.support.admission_corpus.case import (
    ANYWHERE,
    BY,
    MEMBERS,
    QUEUE,
    TEAM,
    USER,
    USERID,
    Case,
    appwrapper,
)
from webhook.admission_review import User

_QUEUES: dict[str, tuple[JsonObject | None, str]] = {
    "no label -> the default queue": (None, "default-queue"),
    "an empty queue label -> the default queue": ({QUEUE: ""}, "default-queue"),
    "a queue label -> that queue": ({QUEUE: "mine"}, "mine"),
}


def _queues() -> Iterator[Case]:
    for place, namespace in (("a team", TEAM), ("no team", ANYWHERE)):
        for name, (labels, queue) in _QUEUES.items():
            fields = {} if labels is None else {"labels": labels}
            yield Case(
                name=f"in the namespace of {place}, {name}",
                sent=appwrapper(namespace=namespace, **fields),
                stored={f"metadata.labels[{QUEUE}]": queue},
            )


# An identity provider's names differ at their end.
_ISSUER = "https://login.example.com/realms/research-and-development/users#"
_LABEL = "https___login.example.com_realms_research-and-developm"
# User name, UID, and the labels of both.
_USERS = (
    ("alice", "4-2_b.c", "alice", "4-2_b.c"),
    ("system:serviceaccount:a:b", "", "system_serviceaccount_a_b", ""),
    ("system:serviceaccount:team1:default", "", "system_serviceaccount_team1_default", ""),
    ("J\u00f6rg M\u00fcller@x.org", "7", "J_rg_M_ller_x.org", "7"),
    ("-._alice_.-", "--", "alice", ""),
    ("a" * 63, "b" * 64, "a" * 63, "b" * 54 + "-a0fab137"),
    ("a" * 62 + "-b", "1", "a" * 54 + "-0a2ffb18", "1"),
    ("\u00fcbermut", "", "bermut", ""),
    ("\u540d\u524d", "", "", ""),
    ("al\u00efce@example.com", "", "al_ce_example.com", ""),
    ("a" * 300, "", "a" * 54 + "-9835fa6b", ""),
    ("team/alice/../x", "", "team_alice_.._x", ""),
    ("alice bob", "", "alice_bob", ""),
    ("-.alice.-", "", "alice", ""),
    ("x" * 62 + "//" + "y", "", "x" * 54 + "-d2a2d2fd", ""),
    (f"{_ISSUER}alice", "", f"{_LABEL}-1d878458", ""),
    (f"{_ISSUER}bob", "", f"{_LABEL}-c538efd9", ""),
)


def _users() -> Iterator[Case]:
    for user, uid, label, uid_label in _USERS:
        yield Case(
            name=f"user {user!r} with uid {uid!r} -> labels of valid characters",
            sent=appwrapper(),
            user=User(user, uid, MEMBERS),
            stored={
                f"metadata.labels[{USER}]": label,
                f"metadata.labels[{USERID}]": uid_label,
                f"metadata.annotations[{BY}]": user,
            },
        )


def _finalizers() -> Iterator[Case]:
    """Yield creations; the controller needs no request of its own to add the finalizer."""
    mine = "example.com/mine"
    for name, sent, stored in (
        ("without a finalizer -> the controller's", [], [FINALIZER]),
        ("with a finalizer of the user's -> both", [mine], [mine, FINALIZER]),
    ):
        body = appwrapper()
        body["metadata"]["finalizers"] = sent
        yield Case(name=name, sent=body, stored={"metadata.finalizers": stored})
    others = appwrapper()
    others["spec"]["managedBy"] = "example.com/other"
    yield Case(
        name="an AppWrapper of another controller -> no finalizer",
        sent=others,
        stored={"metadata.finalizers": None},
    )


def _overwritten(place: str, value: str) -> str:
    return f'metadata.{place}: remove it from the file: it is overwritten with "{value}"'


CASES = (
    *_queues(),
    *_users(),
    *_finalizers(),
    Case(
        name="a file that names another user -> the submitter's labels and a warning for each",
        sent=appwrapper(
            labels={USER: "somebody-else", USERID: "0", "team": "a"}, annotations={BY: "somebody"}
        ),
        stored={
            "metadata.labels": {"team": "a", QUEUE: "default-queue", USER: "alice", USERID: ""},
            "metadata.annotations": {BY: "alice"},
        },
        warnings=(
            _overwritten(f"labels[{USER}]", "alice"),
            _overwritten(f"labels[{USERID}]", ""),
            _overwritten(f"annotations[{BY}]", "alice"),
        ),
    ),
)
