"""ConfigMap `appwrapper-node-health` of the operator's namespace, as far as breakers use it."""

from dataclasses import dataclass
from typing import Final

from shared.api.json import JsonObject

NAME: Final = "appwrapper-node-health"
RECORD_KEY: Final = "evacuationBreakers"
# Names the resources, separated by commas, of which an admin says: their nodes really are bad.
ANNOTATION_CONFIRM: Final = "workload.codeflare.dev/confirm-evacuations"


@dataclass(frozen=True, slots=True)
class HealthRecord:
    """`record` is empty where nothing was written yet; `confirmed` None without the annotation."""

    uid: str
    version: str
    record: str
    confirmed: str | None

    @classmethod
    def of(cls, item: JsonObject) -> "HealthRecord":
        """From the ConfigMap."""
        metadata = item["metadata"]
        return cls(
            uid=metadata["uid"],
            version=metadata["resourceVersion"],
            record=(item.get("data") or {}).get(RECORD_KEY, ""),
            confirmed=(metadata.get("annotations") or {}).get(ANNOTATION_CONFIRM),
        )

    @property
    def confirmed_resources(self) -> list[str]:
        """Each once, in the order in which they are written."""
        names = [name.strip() for name in (self.confirmed or "").split(",")]
        return [name for name in dict.fromkeys(names) if name]

    def patch(self, record: str) -> JsonObject:
        """A merge patch over exactly this version; the annotation, if any, has been heard."""
        heard = {} if self.confirmed is None else {"annotations": {ANNOTATION_CONFIRM: None}}
        return {
            "metadata": {"uid": self.uid, "resourceVersion": self.version, **heard},
            "data": {RECORD_KEY: record},
        }
