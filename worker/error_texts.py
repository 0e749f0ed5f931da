"""Recognise two families of failures by their text, and make a text fit to be shown.

The families are a lost peer, and a faulty device. The user's program causes neither, so a retry is
worth it. A device that is out of memory is the program's fault: it asked for too much.
"""

from __future__ import annotations

import re

# Exceptions are at the end of a text, summaries at its beginning.
_HEAD = 4096
_TAIL = 16384

# Compiled one by one, in lower case, each with a different first letter: so the search is ten times
# as fast as with one pattern of alternatives. A thousand workers fail at once.
_PEER_LOSS = tuple(
    re.compile(pattern)
    for pattern in (
        # NCCL, in torch's and in NCCL's own wording
        r"nccl (?:remote |system |internal |operation )?(?:error|timeout|failure)",
        r"nccl(?:remote|system|internal)error",
        r"nccl communicator was aborted",
        r"nccl operations have failed or timed out",
        r"unhandled system error",
        r"collective operation timeout",
        r"watchdog caught collective",
        r"heartbeat monitor timed out",
        r"dist(?:backend|network|store)error",
        # Gloo
        r"gloo/transport/",
        r"gloo connectfullmesh failed",
        r"application timeout caused pair closure",
        # TCPStore and rendezvous
        r"tcpstore",
        r"client socket has (?:timed out|failed to (?:connect|listen))",
        r"server socket has (?:timed out|failed to (?:connect|listen))",
        r"failed to recv, got 0 bytes",
        r"recvvalue failed",
        r"recvbytes failed",
        r"sendbytes failed",
        r"rendezvous\w{0,40}(?:error|exception|timeout)",
        # Horovod, MPI, JAX and all others that use gRPC
        r"horovodinternalerror",
        r"lost communication with a remote daemon",
        r"socket closed",
        r"failed to connect to all addresses",
        r"coordination service.{0,80}(?:unavailable|heartbeat|disconnect)",
        # The operating system
        r"connection (?:was |is |has been |already )?(?:forcibly )?"
        r"(?:reset|refused|closed|aborted|lost|timed out)",
        r"connection(?:reset|refused|aborted)error",
        r"broken ?pipe",
        r"transport endpoint is not connected",
        r"no route to host",
        r"network is unreachable",
        r"host is unreachable",
    )
)

_DEVICE_FAULT = re.compile(
    "|".join(
        (
            r"(?:cuda|hip)(?: driver| runtime| unknown)? error",
            r"(?:cuda|hip)error[a-z]",
            r"unhandled cuda error",
            r"ncclunhandledcudaerror",
            r"(?:cudnn|cublas|cusparse|cusolver)_status_"
            r"(?:internal_error|execution_failed|mapping_error|not_initialized)",
            r"cufft_(?:internal_error|exec_failed)",
            r"(?:cudnn|cublas)[^\n]{0,40}internal error",
            r"(?:uncorrectable|double[- ]bit|sram|dram)[^\n]{0,20}\becc\b",
            r"\becc\b[^\n]{0,20}error",
            r"nvlink[^\n]{0,40}(?:error|fail)",
            r"\bxid\b[^\n]{0,40}\d",
            r"fallen off the bus",
            r"device-side assert",
            r"illegal memory access",
            r"unspecified launch failure",
            r"no cuda-capable device",
            r"found no nvidia driver",
            r"unable to determine the device handle",
        )
    ),
    re.IGNORECASE,
)

_DEVICE_MEMORY = re.compile(
    r"out.?of.?memory|error_?memory_?allocation|status_alloc_failed", re.IGNORECASE
)

_FRAME = re.compile(r'^  File "[^\n]*\n(?:    [^\n]*\n)*', re.MULTILINE)


_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")  # colours of a terminal
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Control characters except tab and line end, and marks that reverse the order of writing.
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Return `text` without characters that change a terminal."""
    return _CONTROLS.sub("", _LINE_ENDS.sub("\n", _ESCAPES.sub("", text)))


def is_peer_loss(text: str) -> bool:
    """True if `text` (a traceback, a message, the end of a log) reports that another worker left.

    The whole text counts, causes of an exception included. It is a hint, never a proof: a program
    may lose its connection to anything.
    """
    ends = _ends_of(text).lower()
    return any(each.search(ends) for each in _PEER_LOSS)


def is_device_fault(text: str) -> bool:
    """True if `text` reports that a GPU failed, and not that its memory was too small."""
    ends = _ends_of(text)
    return _DEVICE_MEMORY.search(ends) is None and _DEVICE_FAULT.search(ends) is not None


def summary_line(text: str) -> str:
    """Return the line of a record's message that names the failure: at most 300 characters.

    It is the last exception's line in a text that begins with a traceback (Flyte's messages do),
    else the first line with text; empty if there is none.
    """
    if text.lstrip().startswith("Traceback (most recent call last)"):
        frames = list(_FRAME.finditer(text))
        after = text[frames[-1].end() :] if frames else ""
        text = after if after.strip() else text
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:300]


def _ends_of(text: str) -> str:
    """Return `text` without the middle of a long one, so that a search takes bounded time."""
    if len(text) <= _HEAD + _TAIL:
        return text
    return text[:_HEAD] + "\n" + text[-_TAIL:]
