"""Errors of a local cluster. Every message is for the person at the keyboard.

The command prints the bare message; a test fails with it. It contains the problem and the remedy.
"""


class LocalClusterError(Exception):
    """A failure that the user can understand and act on."""


class ToolMissing(LocalClusterError):
    """A program that this folder needs is not installed, or too old."""


class BuildFailed(LocalClusterError):
    """A component could not be built."""


class DiskFull(LocalClusterError):
    """The disk has too little space for the files to write."""


class ProcessFailed(LocalClusterError):
    """A component ended early or did not become ready in time."""
