"""A program's roles in the cluster, as data, with a reason for each rule.

`make generate` writes the manifests from them.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """`verbs` on `resources` (plural; `plural/subresource`) of one API group ("": the core group).

    `names` limits the rule to objects of these names; empty: all. `reason` states, in whole
    sentences, how the program uses the rule.
    """

    reason: str
    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Role:
    """Rules bound to the program's ServiceAccount.

    They apply in the program's own namespace, or in all if `everywhere`. `about` states the
    purpose.
    """

    name: str
    about: str
    rules: tuple[Rule, ...]
    everywhere: bool = False
