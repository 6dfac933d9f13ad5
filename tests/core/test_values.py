"""What the core hands out are values: nobody can change one in another's hands, nor hang something on it."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from typing import cast

import pytest

import compass_core
from compass_core.draft import Draft
from compass_core.hierarchy import HierarchicalState

WORKING_COPIES = {"Draft", "_Event"}
"""What advances inside one event and is never handed out."""


def dataclasses_of_the_core() -> list[type]:
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(compass_core.__path__, "compass_core.")
        if not found.ispkg
    ]
    return [
        kind
        for module in modules
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__ and dataclasses.is_dataclass(kind)
    ]


def test_there_are_some() -> None:
    assert len(dataclasses_of_the_core()) > 10
    assert {Draft, HierarchicalState} <= set(dataclasses_of_the_core())


@pytest.mark.parametrize("kind", dataclasses_of_the_core(), ids=lambda kind: kind.__qualname__)
def test_frozen_and_slotted(kind: type) -> None:
    one = cast("object", object.__new__(kind))
    first = dataclasses.fields(kind)[0].name
    if kind.__name__ not in WORKING_COPIES:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(one, first, None)
    assert not hasattr(one, "__dict__")
