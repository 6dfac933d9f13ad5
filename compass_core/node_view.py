"""The nodes of a state as a sequence, without a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from compass_core.model import Node, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from immutables import Map


class NodeView(Sequence[Node]):
    """The nodes of a state by index; nothing is copied."""

    __slots__ = ("_idle", "_length", "_occupied")

    def __init__(self, occupied: Map[int, Node], length: int, capacity: int) -> None:
        self._occupied = occupied
        self._length = length
        self._idle = Node((), shape_of(capacity, ()))

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Node: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Node, ...]: ...
    def __getitem__(self, index: int | slice) -> Node | tuple[Node, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(self._length)))
        at = index + self._length if index < 0 else index
        if not 0 <= at < self._length:
            raise IndexError(f"expected a node index below {self._length}, got {index}")
        return self._occupied.get(at, self._idle)

    def occupied(self) -> Iterator[tuple[int, Node]]:
        """Yield index and node of the nodes that hold something, in no particular order."""
        yield from self._occupied.items()
