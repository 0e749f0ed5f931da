"""Write the commands that users run next. Pure."""

from shared.api.appwrapper import AppWrapper


def command_for(appwrapper: AppWrapper, command: str) -> str:
    """Return the command as it works from every namespace."""
    return f"appwrapper {command} {appwrapper.name} -n {appwrapper.namespace}"
