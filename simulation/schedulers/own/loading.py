"""Schedulers named module:Class."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from compass_core import CompassError
from simulation.schedulers.own.adapter import OwnScheduler
from simulation.schedulers.own.book import raised
from simulation.schedulers.own.checked import checked

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from compass_core.scheduler_protocol import Scheduler as FourMethods
    from simulation.schedulers.protocol import Scheduler

_FOUR_METHODS = ("reset", "arrive", "depart", "placement")
_MEASURES = ("name", "nodes", "partial_nodes", "empty_nodes")
_EXPECTED = f"expected the methods {', '.join(_FOUR_METHODS)}, or those of simulation.schedulers.protocol"
_DIGITS = 12


class OwnSchedulerError(CompassError):
    """What was named module:Class is no scheduler; the message says what was expected."""


@dataclass(frozen=True, slots=True)
class OwnClass:
    """A class that was found.

    Attributes
    ----------
    kind
        The class.
    code
        What tells it from another of the same name: a hash of the file in which it stands.
    """

    kind: type[object]
    code: str


def is_own(name: str) -> bool:
    """Whether a name of a scheduler has the form module:Class."""
    return ":" in name


@cache
def find(name: str) -> OwnClass:
    """Return the class of a name such as module:Class; modules of the current folder are found as well.

    Raises
    ------
    OwnSchedulerError
        There is none, or it has not the methods of a scheduler.
    """
    module_name, _, class_name = name.partition(":")
    if not class_name.isidentifier() or not all(part.isidentifier() for part in module_name.split(".")):
        raise OwnSchedulerError(f"{name}: expected module:Class, such as mine:BestFit")
    module = _imported(name, module_name)
    kind: object = getattr(module, class_name, None)
    if not isinstance(kind, type):
        where = getattr(module, "__file__", None) or "no file"
        raise OwnSchedulerError(f"{name}: expected a class {class_name} in module {module_name} ({where})")
    # What has some of the four means all of them, but the replay's own protocol shares two.
    wanted = _FOUR_METHODS if hasattr(kind, "placement") or hasattr(kind, "reset") else ("arrive", "depart")
    missing = [method for method in wanted if not callable(getattr(kind, method, None))]
    if missing:
        raise OwnSchedulerError(f"{name}: {_EXPECTED}; it has no {missing[0]}")
    return OwnClass(kind, _code_of(name, kind))


def make_own(name: str, nodes: int) -> Scheduler:
    """Return a scheduler named module:Class on an idle cluster, checked by the replay's own book.

    A class of the four methods is called without arguments, one of the replay's own protocol with the number of nodes.

    Raises
    ------
    OwnSchedulerError
        There is no such class, or it cannot be called so.
    SchedulerError
        It broke a clause at once.
    """
    kind = find(name).kind
    of_four = hasattr(kind, "placement")
    make = cast("Callable[..., object]", kind)
    try:
        made = make() if of_four else make(nodes)
    except Exception as error:
        how = "without arguments" if of_four else "with the number of nodes"
        raise OwnSchedulerError(f"{name}: expected a class to be called {how}; {raised(error)}") from error
    if of_four:
        return OwnScheduler(cast("FourMethods", made), nodes, name=name)
    missing = [measure for measure in _MEASURES if not hasattr(made, measure)]
    if missing:
        raise OwnSchedulerError(f"{name}: {_EXPECTED}; it has no {missing[0]}")
    scheduler = checked(cast("Scheduler", made), name)
    if scheduler.nodes != nodes:
        raise OwnSchedulerError(f"{name}: expected a scheduler of {nodes} nodes, it has {scheduler.nodes}")
    return scheduler


def _imported(name: str, module_name: str) -> ModuleType:
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)  # at the end: a file of that folder must not stand in for a module of the program
    try:
        return import_module(module_name)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}."):
            raise OwnSchedulerError(
                f"{name}: expected a module {module_name} in {folder} or on Python's path, found none"
            ) from error
        raise OwnSchedulerError(f"{name}: module {module_name} cannot be imported; {raised(error)}") from error


def _code_of(name: str, kind: type[object]) -> str:
    try:
        source = Path(inspect.getfile(kind)).read_bytes()
    except (TypeError, OSError):  # made without a file
        source = b""
    return sha256(name.encode() + b"\n" + source).hexdigest()[:_DIGITS]
