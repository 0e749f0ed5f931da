"""Texts of a lost peer and of a faulty device, and the line that names a failure."""

import pytest

from worker.error_texts import is_device_fault, is_peer_loss, printable, summary_line

PEER_LOSSES = [
    "RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed by peer [127.0.0.1]:3811",
    "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1691, "
    "unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.20.5",
    "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting",
    "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)",
    "torch.distributed.DistNetworkError: failed to recv, got 0 bytes",
    "The client socket has timed out after 900s while trying to connect to (w-0, 29500).",
    "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: the connection failed",
    "ConnectionResetError: [Errno 104] Connection reset by peer",
    "ConnectionRefusedError: [Errno 111] Connection refused",
    "BrokenPipeError: [Errno 32] Broken pipe",
    "OSError: [Errno 113] No route to host",
    "TimeoutError: [Errno 110] Connection timed out",
    "OSError: [Errno 107] Transport endpoint is not connected",
    "XlaRuntimeError: UNAVAILABLE: Socket closed",
    "grpc: failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.7:8476",
    "horovod.common.exceptions.HorovodInternalError: Horovod has been shut down",
]
DEVICE_FAULTS = [
    "RuntimeError: CUDA error: uncorrectable ECC error encountered",
    "RuntimeError: CUDA error: unspecified launch failure",
    "RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR",
    "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm`",
    "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus",
    "CUDA error: device-side assert triggered",
    "RuntimeError: HIP error: invalid device function",
    "RuntimeError: Found no NVIDIA driver on your system",
]
NEITHER = [
    "",
    "ValueError: bad shard",
    "KeyError: 'nccl'",
    "FileNotFoundError: [Errno 2] No such file or directory: 'gloo.yaml'",
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
    "RuntimeError: CUDA error: out of memory",
    "NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>",
    "AssertionError: expected 3 checkpoints",
]


@pytest.mark.parametrize("text", PEER_LOSSES)
def test_a_lost_peer_is_recognised(text: str) -> None:
    assert is_peer_loss(text)


@pytest.mark.parametrize("text", DEVICE_FAULTS)
def test_a_faulty_device_is_recognised(text: str) -> None:
    assert is_device_fault(text)


@pytest.mark.parametrize("text", NEITHER)
def test_an_error_of_the_program_is_neither(text: str) -> None:
    assert not is_peer_loss(text)
    assert not is_device_fault(text)


def test_the_end_of_a_long_text_counts_and_its_middle_does_not() -> None:
    filler = "step\n" * 10_000
    assert is_peer_loss(filler + "Broken pipe")
    assert not is_peer_loss(filler + "Broken pipe" + filler)


def test_the_summary_is_the_last_exception_of_a_traceback() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "load.py", line 3, in load\n    shard()\nKeyError: 1\n\n'
        "The above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\n"
        '  File "train.py", line 9, in <module>\n    load()\n    ^^^^^^\n'
        "ValueError: bad shard\nsee the log\n"
    )
    assert summary_line(text) == "ValueError: bad shard"


def test_the_summary_is_the_first_line_of_any_other_text() -> None:
    assert summary_line("\n  killed by SIGSEGV\nmore\n") == "killed by SIGSEGV"
    assert summary_line("x" * 1000) == "x" * 300
    assert summary_line("Traceback (most recent call last):\n") == (
        "Traceback (most recent call last):"
    )
    assert summary_line(" \n") == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[1;31mred\x1b[0m\tand\nplain é", "red\tand\nplain é"),
        ("10 %\r20 %\r\n30 %\x0b40 %", "10 %\n20 %\n30 %\n40 %"),
        ("a\x00b\x07c\x7fd\x9b31me\u202ef", "abcd31mef"),
    ],
)
def test_a_text_changes_no_terminal(text: str, expected: str) -> None:
    assert printable(text) == expected
