"""docs/admins/suspect-nodes.md names every reason of Kubernetes that makes no node a suspect."""

import re
from pathlib import Path

from controller.facts.pod_reasons import PROOFS

PAGE = Path("docs/admins/suspect-nodes.md")


def test_the_page_lists_exactly_the_reasons_that_blame_no_node() -> None:
    rows = re.findall(r"^\| the cause (.+?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    listed = sorted(re.findall(r"`(\w+)`", " ".join(rows)))
    assert listed == sorted(reason for reason, proof in PROOFS.items() if not proof.blames_node)
