"""polars, imported here only: it takes SIGINT for itself, and where that is ignored, in the background, it stays so."""

from __future__ import annotations

import signal
import threading

_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN

import polars  # noqa: E402, ICN001 - the state before it is wanted; modules say `from ... import polars as pl`

if _ignored and threading.current_thread() is threading.main_thread():  # no other thread may set signals
    signal.signal(signal.SIGINT, signal.SIG_IGN)

__all__ = ["polars"]
