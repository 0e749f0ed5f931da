"""What can go wrong with a local cluster. Every message is for the person at the keyboard.

The command prints it bare; a test fails with it. It says what happened and what to do about it.
"""


class LocalClusterError(Exception):
    """Any failure that the person can understand and act on."""


class ToolMissing(LocalClusterError):
    """A program that this folder needs is not installed, or too old."""


class BuildFailed(LocalClusterError):
    """A component could not be built."""


class DiskFull(LocalClusterError):
    """There is not enough space for what has to be written."""


class NoFreePort(LocalClusterError):
    """Every port of the range is taken."""


class ProcessFailed(LocalClusterError):
    """A component ended early or did not become ready in time."""


class FolderInUse(LocalClusterError):
    """The cluster's folder belongs to a running cluster, or to something that is no cluster."""


class UnknownComponent(LocalClusterError):
    """A component was asked for that does not exist."""


class NoFreeSubnet(LocalClusterError):
    """Every address range for real nodes is taken."""
