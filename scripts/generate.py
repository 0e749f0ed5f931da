"""Writes all generated files: `make generate`. A unit test fails if one is stale.

docs/users/phases.md            from the table of edges and the phase machine's decisions
docs/admins/rules.md            from the webhook's chain
tables of configuration.md      from the models of shared/config
tables of generate.md           from the keys of `appwrapper generate`
each overlay's webhook configurations and admission policies    from its config.yaml
the roles of both programs      from their rbac.py
the command's shipped files     from the configurations
tables of benchmark figures     from docs/maintainers/benchmark-results.json
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from scripts.benchmark_pages import benchmark_pages
from scripts.configuration_page import configuration_page
from scripts.phases_page import phases_page
from scripts.rbac import role_files
from scripts.shipped import shipped_files
from scripts.values_page import values_page
from shared.config.loading import load_config
from webhook import chain
from webhook.policies import policies_yaml
from webhook.registration import registration_yaml
from webhook.rules.submission import components_of

REPOSITORY = Path(__file__).resolve().parents[1]
PHASES_PAGE = REPOSITORY / "docs" / "users" / "phases.md"
CONFIGURATION_PAGE = REPOSITORY / "docs" / "admins" / "configuration.md"
RULES_PAGE = REPOSITORY / "docs" / "admins" / "rules.md"
VALUES_PAGE = REPOSITORY / "docs" / "users" / "generate.md"
OVERLAYS = REPOSITORY / "deploy" / "manifests" / "overlays"

_REGISTRATION = "webhook-configurations.yaml"
_POLICIES = "admission-policies.yaml"
_REGISTRATION_HEADER = """\
# When the API server calls the webhook. Generated from config.yaml beside this file by
# `make generate`; docs/admins/webhook.md explains each part.
"""
_POLICIES_HEADER = """\
# What the API server itself refuses in teams' namespaces. Generated from config.yaml beside this
# file by `make generate`; docs/admins/policy.md explains each part.
"""


def rules_page() -> str:
    """Return docs/admins/rules.md."""
    lines = [
        "# Rules of the webhook",
        "",
        "This page is a reference for platform admins. It lists every rule of the webhook, in the",
        "order in which the rules run. The name of a rule is its label `rule` in the metrics.",
        "[webhook.md](webhook.md) describes when the API server calls the webhook.",
        "`make generate` writes this page from `webhook/chain.py`.",
    ]
    stages: dict[str, Mapping[str, Callable[..., object]]] = {
        "An AppWrapper is created: before anything else": {
            **chain.SIZE_LIMITS,
            chain.COMPONENTS: components_of,
        },
        "An AppWrapper is created: changes": chain.MUTATE_ON_CREATE,
        "An AppWrapper is created: checks": chain.VALIDATE_ON_CREATE,
        "An AppWrapper is created: warnings": chain.WARN_ON_CREATE,
        "An AppWrapper is updated: fields that are restored": chain.MUTATE_ON_UPDATE,
        "An AppWrapper is updated: checks": chain.VALIDATE_ON_UPDATE,
        "An AppWrapper is updated: warnings": chain.WARN_ON_UPDATE,
        "A team creates something else: changes": chain.MUTATE_DIRECT_KIND,
        "A team creates something else: checks": chain.VALIDATE_DIRECT_KIND,
    }
    for heading, rules in stages.items():
        lines += ["", f"## {heading}", "", "| Rule | What it does |", "|---|---|"]
        lines += [f"| `{name}` | {_subject(rule)} |" for name, rule in rules.items()]
    return "\n".join(lines) + "\n"


def _subject(rule: Callable[..., object]) -> str:
    """Return the first paragraph of the rule's docstring."""
    text = rule.__doc__ or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


def registrations() -> dict[Path, str]:
    """Return each overlay's webhook configurations and admission policies, by file."""
    made = {}
    for file in sorted(OVERLAYS.glob("*/config.yaml")):
        config = load_config(file).config
        webhooks, policies = (file.with_name(each) for each in (_REGISTRATION, _POLICIES))
        made[webhooks] = _REGISTRATION_HEADER + registration_yaml(config)
        made[policies] = _POLICIES_HEADER + policies_yaml(config)
    return made


def main() -> int:
    """Write every generated file."""
    pages = {
        PHASES_PAGE: phases_page(),
        CONFIGURATION_PAGE: configuration_page(CONFIGURATION_PAGE.read_text()),
        RULES_PAGE: rules_page(),
        VALUES_PAGE: values_page(VALUES_PAGE.read_text()),
    }
    made = pages | registrations() | role_files() | shipped_files(OVERLAYS)
    made |= benchmark_pages()
    for file, content in made.items():
        file.write_text(content)
        print(f"wrote {file.relative_to(REPOSITORY)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
