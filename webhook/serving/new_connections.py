"""Lets nobody begin a connection while those that have begun one may finish.

Closing a listening socket resets whoever has connected but was not accepted yet. Between the last
accept and the close there is always somebody. So the kernel is told first to drop what begins a
connection (SYN without ACK): to the client that looks like a lost packet, it tries again a second
later, and by then the kernel leads it to another process with the same port.
"""

import ctypes
import logging
import socket
from typing import Final

_log: Final = logging.getLogger(__name__)

# Of the Linux API (asm-generic/socket.h); Python has no name for it.
_SO_ATTACH_FILTER: Final = 26

_FLAGS_OFFSET: Final = 13  # in the TCP header, where a socket's filter begins to read
_SYN: Final = 0x02
_ACK: Final = 0x10
# Classic BPF (linux/filter.h): load a byte, mask it, compare it, return how much to keep.
_LOAD_BYTE: Final = 0x30
_AND: Final = 0x54
_JUMP_IF_EQUAL: Final = 0x15
_RETURN: Final = 0x06


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("operand", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


_DROP_SYN: Final = (
    (_LOAD_BYTE, 0, 0, _FLAGS_OFFSET),
    (_AND, 0, 0, _SYN | _ACK),
    (_JUMP_IF_EQUAL, 0, 1, _SYN),
    (_RETURN, 0, 0, 0),
    (_RETURN, 0, 0, 0xFFFFFFFF),
)


def stop_new_connections(listening: socket.socket) -> None:
    """From now on nobody can begin to connect; whoever has begun still can finish.

    Where the kernel does not allow it, nothing changes but a log line.
    """
    instructions = (_Instruction * len(_DROP_SYN))(*(_Instruction(*each) for each in _DROP_SYN))
    program = _Program(len(_DROP_SYN), instructions)
    try:
        listening.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, bytes(program))
    except OSError as error:
        _log.info("a connection that begins right now may be reset: %s", error.strerror)
