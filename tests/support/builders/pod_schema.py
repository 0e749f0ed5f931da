"""Reads the pinned API server's schema of pods from the file that ships with the command."""

from cli.shipped.data import pod_schema
from shared.pod_schema.pod_schema import Definitions, PodSchema

DEFINITIONS: Definitions = pod_schema().definitions
POD_SCHEMA = PodSchema(DEFINITIONS)
