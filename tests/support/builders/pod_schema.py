"""What the pinned API server says of pods, from the golden file."""

import json
from pathlib import Path

from shared.pod_schema.pod_schema import Definitions, PodSchema

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "pod_schema.json"
DEFINITIONS: Definitions = json.loads(GOLDEN.read_text(encoding="utf-8"))
POD_SCHEMA = PodSchema(DEFINITIONS)
