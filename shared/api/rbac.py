"""What a program may do in the cluster, as data: its roles, and why it needs each rule.

`make generate` makes the manifests of it.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """`verbs` on `resources` (plural; `plural/subresource`) of one API group ("": the core group).

    `names` limits it to objects of these names; none: all. `reason` is what the program does with
    it, in whole sentences.
    """

    reason: str
    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Role:
    """Rules bound to the ServiceAccount of the program.

    They hold in the program's own namespace only, or `everywhere`. `about` says what it is for.
    """

    name: str
    about: str
    rules: tuple[Rule, ...]
    everywhere: bool = False
