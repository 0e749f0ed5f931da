"""Select AppWrappers by the user who created them: the webhook records the name. Pure."""

from shared.api.appwrapper import AppWrapper
from shared.api.names import ANNOTATION_SUBMITTED_BY, LABEL_USER


def creator_of(appwrapper: AppWrapper) -> str:
    """Return the creator's exact name; the label's value if only the label has the name."""
    exact = appwrapper.annotations.get(ANNOTATION_SUBMITTED_BY)
    return exact or appwrapper.labels.get(LABEL_USER) or ""


def creator_selector(user: str) -> str:
    """Return a label selector. Names such as `a@b` and `a_b` share a label: see `is_by`."""
    return f"{LABEL_USER}={_label_of(user)}"


def is_by(appwrapper: AppWrapper, user: str) -> bool:
    """True if the user with this exact name created the AppWrapper.

    The Go operator wrote no exact name: then the label decides.
    """
    exact = appwrapper.annotations.get(ANNOTATION_SUBMITTED_BY)
    return exact == user if exact else appwrapper.labels.get(LABEL_USER) == _label_of(user)


def is_by_name(appwrapper: AppWrapper, text: str) -> bool:
    """True if `text` is the creator's exact name or its form in the label."""
    return is_by(appwrapper, text) or appwrapper.labels.get(LABEL_USER) == text


def _label_of(user: str) -> str:
    from webhook.rules.user import as_label_value  # takes a tenth of the time of a short list

    return as_label_value(user)
