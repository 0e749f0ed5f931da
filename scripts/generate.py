"""Writes all generated files: `make generate`. A unit test fails if one is stale.

rows of phases.md               from the phase machine's rows and reasons
tables of rules.md              from the webhook's chain
tables of configuration.md      from the models of shared/config
tables of generate.md           from the keys of `appwrapper generate`
each overlay's webhook configurations and admission policies    from its config.yaml
the roles of both programs      from their rbac.py
the command's shipped files     from the configurations
schema and keys of deploy/chart    from the configuration's models
the version in manifests, Dockerfiles, the chart and pages    from pyproject.toml
tables and picture of benchmark figures    from docs/maintainers/benchmark-results.json and
                                           scale-results.json
tables and picture of the profile    from docs/maintainers/profile-results.json
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from scripts.benchmark_pages import benchmark_pages
from scripts.chart import chart_files
from scripts.configuration_page import configuration_tables
from scripts.pages import REPOSITORY, first_paragraph, table, with_passage
from scripts.phases_page import phases_passage
from scripts.profile_page import profile_pages
from scripts.rbac import role_files
from scripts.shipped import shipped_files
from scripts.values_page import values_tables
from scripts.versioned import versioned_files
from shared.config.loading import load_config
from webhook import chain
from webhook.policies import policies_yaml
from webhook.registration import registration_yaml
from webhook.rules.submission import components_of

_DOCS = REPOSITORY / "docs"
_OVERLAYS = REPOSITORY / "deploy" / "manifests" / "overlays"

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


def rules_tables() -> str:
    """Return a table of the webhook's rules for each stage of its chain."""
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
    parts = []
    for heading, rules in stages.items():
        rows = [(f"`{name}`", first_paragraph(rule.__doc__)) for name, rule in rules.items()]
        parts += [f"## {heading}", table(("Rule", "What it does"), rows)]
    return "\n\n".join(parts)


def _registrations() -> dict[Path, str]:
    """Return each overlay's webhook configurations and admission policies, by file."""
    made = {}
    for file in sorted(_OVERLAYS.glob("*/config.yaml")):
        config = load_config(file).config
        webhooks, policies = (file.with_name(each) for each in (_REGISTRATION, _POLICIES))
        made[webhooks] = _REGISTRATION_HEADER + registration_yaml(config)
        made[policies] = _POLICIES_HEADER + policies_yaml(config)
    return made


def generated() -> dict[Path, str]:
    """Return the content of every generated file."""
    passages = {
        _DOCS / "users" / "phases.md": phases_passage(),
        _DOCS / "users" / "generate.md": values_tables(),
        _DOCS / "admins" / "configuration.md": configuration_tables(),
        _DOCS / "admins" / "rules.md": rules_tables(),
    }
    pages = {page: with_passage(page.read_text(), text) for page, text in passages.items()}
    benchmarks = benchmark_pages() | profile_pages()
    manifests = _registrations() | role_files() | chart_files() | versioned_files()
    return pages | benchmarks | manifests | shipped_files(_OVERLAYS)


def main() -> int:
    """Write every generated file."""
    for file, content in generated().items():
        file.write_text(content)
        print(f"wrote {file.relative_to(REPOSITORY)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
