# ruff: noqa: BLE001, UP032
# mypy: ignore-errors
"""Record uncaught exceptions of this Python process; nothing else about it changes.

Python imports the first `sitecustomize` of its path at start. This one installs two exception
hooks, then runs the `sitecustomize` that it hides, if there is one. Every interpreter of the image
runs this file, so that its syntax is the oldest there is. A failure in it is one line on stderr:
the user's program comes first.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


_exit = []  # the last failing sys.exit of the main thread, as `write_exit` takes it


def _errors():
    """Import our module by its place, whatever the program has done to the path."""
    import importlib

    sys.path.insert(0, _HERE)
    try:
        return importlib.import_module("appwrapper_errors")
    finally:
        sys.path.remove(_HERE)


def _call(name, *arguments):
    """Call a function of our module, also if the process has no file descriptor left."""
    import resource  # imported at the start: `_install`

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft in (hard, resource.RLIM_INFINITY):
        return getattr(_errors(), name)(*arguments)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft + 1, hard))
    try:
        return getattr(_errors(), name)(*arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _report(error):
    try:
        sys.stderr.write("appwrapper worker: an error could not be recorded: {!r}\n".format(error))
    except Exception:
        return  # a program may close its stderr, or replace it


def _write(exception_type, exception, traceback, thread=False):
    try:
        del _exit[:]
        _call("write", exception_type, exception, traceback, thread)
    except Exception as error:
        _report(error)


def _write_exit():
    try:
        if _exit:
            _call("write_exit", *_exit)
    except Exception as error:
        _report(error)


def _failing(argument):
    """True if sys.exit(argument) is a failure; an array's comparison with 0 has no truth value."""
    return not (argument is None or (isinstance(argument, int) and argument == 0))


def _handled():
    """Describe the exception that the caller of sys.exit handles, now: later it may be gone."""
    error = sys.exc_info()[1]
    try:
        if isinstance(error, Exception):
            return _call("description", error, error.__traceback__)
    except Exception as defect:
        _report(defect)
    return {}


def _install():
    import atexit
    import functools
    import resource  # noqa: F401  (needs a file descriptor itself)
    import threading
    import time

    before, thread_before, exit_before = sys.excepthook, threading.excepthook, sys.exit
    main = threading.get_ident()

    def on_exception(exception_type, exception, traceback):
        _write(exception_type, exception, traceback)
        before(exception_type, exception, traceback)

    def on_thread(arguments):
        _write(arguments[0], arguments[1], arguments[2], thread=True)
        thread_before(arguments)

    # By its own name, so that `Process(target=sys.exit)` can be pickled.
    @functools.wraps(exit_before)
    def on_exit(*arguments):
        # No exception hook sees SystemExit. Whether it ends the process is known at its end.
        if threading.get_ident() == main:
            failing = bool(arguments) and _failing(arguments[0])
            _exit[:] = [arguments[0], time.time_ns(), _handled()] if failing else []
        exit_before(*arguments)

    sys.excepthook, threading.excepthook, sys.exit = on_exception, on_thread, on_exit
    atexit.register(_write_exit)


def _own_error_file():
    """Claim torchrun's error file for this process: it does not belong to the processes below
    it.
    """
    path = os.environ.get("TORCHELASTIC_ERROR_FILE", "")
    if path and os.environ.get("_AW_ERROR_FILE_TAKEN") != path:
        os.environ["_AW_ERROR_FILE_TAKEN"] = path
        sys._aw_error_file = path


def _chain():
    """Run the sitecustomize that this file hides, under its own name."""
    own = sys.modules.pop("sitecustomize", None)
    hidden = [entry for entry in sys.path if entry == _HERE]
    sys.path[:] = [entry for entry in sys.path if entry != _HERE]
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        # Python reports the fault of the user's own file, and continues.
        if getattr(error, "name", "sitecustomize") != "sitecustomize":
            raise
    finally:
        sys.path.extend(hidden)
        if "sitecustomize" not in sys.modules and own is not None:
            sys.modules["sitecustomize"] = own


if sys.version_info >= (3, 8) and os.environ.get("_AW_RECORDS"):
    try:
        _own_error_file()
        _install()
    except Exception as error:
        _report(error)
_chain()
