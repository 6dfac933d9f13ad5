"""The type of pytest-benchmark's fixture, as far as it is used here: the package has no types of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Benchmark(Protocol):
    """What the benchmarks use of pytest-benchmark's fixture."""

    extra_info: dict[str, object]

    def __call__(self, function: Callable[[], T]) -> T:
        """Time the function over many rounds and return what it returned last."""
        ...

    def pedantic(self, function: Callable[[], T], *, rounds: int) -> T:
        """Time the function over so many rounds of one call each."""
        ...
