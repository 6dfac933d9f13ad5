"""Counterexamples to claims of the paper as data: the events, what each of them leaves, and the clause that fails.

Each file here is one counterexample. It can be read without this project; `replay` runs its events on the printed
algorithm again, and the test suite compares.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from compass_core import ClusterState, PrintedUndefinedError
from compass_core.printed import PrintedOptions, place_job, remove_job
from oracle import inherent_partial_nodes
from proofs.canonical import contents_of
from proofs.events import Arrival, format_events, parse_events

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proofs.events import Departure
    from proofs.laws import Contents

FOLDER = Path(__file__).parent


class Frame(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What one event left, by node index; all measures as in theory §1.

    Attributes
    ----------
    undefined
        What the print does not say, where it does not say what to do; the nodes are then as before the event.
    migrations
        Instances that changed nodes, fillers that went with their slot included.
    """

    event: str
    nodes: tuple[tuple[int, ...], ...]
    used_gpus: int
    partial_nodes: int
    inherent_partial_nodes: int
    sif: float
    wcc: bool
    migrations: int = 0
    undefined: str | None = None

    @property
    def avoidable(self) -> int:
        """N·SIF."""
        return self.partial_nodes - self.inherent_partial_nodes


class EventExample(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind", tag="events"
):
    """A list of events under which the printed algorithm breaks a claim.

    Attributes
    ----------
    claim, claimed, fails
        The claim's id, what the paper says, and the clause that fails with its numbers.
    shortest
        What was searched for a shorter list, or one on fewer nodes.
    nodes, capacity
        Nodes of the cluster and GPUs of each.
    refill
        Whether a departing filler is replaced, as in the prose, or not, as in the pseudocode.
    events
        The list, in the notation of `proofs.events.parse_events`.
    frames
        What each event left.
    better
        The same instances with the fewest partial nodes, where that is the point.
    """

    claim: str
    claimed: str
    fails: str
    shortest: str
    nodes: int
    events: str
    frames: tuple[Frame, ...]
    capacity: int = 8
    refill: bool = True
    better: tuple[tuple[int, ...], ...] = ()


class PlacementExample(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="placements"):
    """Two placements of the same instances that tell apart what the paper calls the same, or a result that is not best.

    Attributes
    ----------
    claim, claimed, fails, shortest
        As for `EventExample`.
    placement, better
        The demands on each node in use.
    """

    claim: str
    claimed: str
    fails: str
    shortest: str
    placement: tuple[tuple[int, ...], ...]
    better: tuple[tuple[int, ...], ...]


Example: TypeAlias = EventExample | PlacementExample


def load(claim: str) -> Example:
    """Return the counterexample to a claim.

    Raises
    ------
    KeyError
        There is none.
    """
    path = FOLDER / f"{claim.lower()}.json"
    if not path.exists():
        raise KeyError(claim)
    # The decoder takes the class of a file from its field "kind".
    return msgspec.json.decode(path.read_bytes(), type=EventExample | PlacementExample)


def load_all() -> tuple[Example, ...]:
    """Return every counterexample, in the order of the claims."""
    names = sorted((path.stem.upper() for path in FOLDER.glob("*.json")), key=lambda name: (name[0], int(name[1:])))
    return tuple(load(name) for name in names)


def save(example: Example, folder: Path = FOLDER) -> None:
    """Write a counterexample to its file: a field a line, a frame a line."""
    fields: dict[str, object] = msgspec.to_builtins(example)
    texts = {name: _json(value) for name, value in fields.items()}
    if isinstance(example, EventExample):
        texts["frames"] = "[\n" + ",\n".join(f"  {_json(frame)}" for frame in example.frames) + "\n ]"
    lines = [f" {_json(name)}: {text}" for name, text in texts.items()]
    (folder / f"{example.claim.lower()}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()


def replay(
    events: str, *, nodes: int, capacity: int = 8, options: PrintedOptions | None = None
) -> tuple[tuple[Frame, ...], ClusterState]:
    """Return what each event of a list leaves under the printed algorithm, and the last state.

    The list ends where the print does not say what to do.
    """
    state = ClusterState.empty(nodes, capacity)
    frames: list[Frame] = []
    for event, text in zip(parse_events(events), _words(events), strict=True):
        try:
            after, migrations = _played(state, event, options or PrintedOptions())
        except PrintedUndefinedError as error:
            frames.append(_frame(text, state, 0, undefined=str(error)))
            break
        state = after
        frames.append(_frame(text, state, migrations))
    return tuple(frames), state


def replayed(example: EventExample) -> EventExample:
    """Return the counterexample with its frames made afresh."""
    options = PrintedOptions(refill=example.refill)
    frames, _ = replay(example.events, nodes=example.nodes, capacity=example.capacity, options=options)
    return msgspec.structs.replace(example, frames=frames)


def _words(events: str) -> Iterator[str]:
    yield from format_events(parse_events(events)).split(", ")


def _played(state: ClusterState, event: Arrival | Departure, options: PrintedOptions) -> tuple[ClusterState, int]:
    if isinstance(event, Arrival):
        draft = place_job(state.with_job(event.job), event.job, options)
        before = state
    else:
        draft = remove_job(state, event.name, options)
        before = state.without_job(event.name)
    return draft.state, _moved(before, draft.state)


def _moved(before: ClusterState, after: ClusterState) -> int:
    return sum(
        before.node_of(instance) != after.node_of(instance)
        for name in before.jobs_by_name
        for instance in before.instances_of(name)
    )


def _frame(text: str, state: ClusterState, migrations: int, *, undefined: str | None = None) -> Frame:
    contents: Contents = contents_of(state)
    inherent = inherent_partial_nodes(state.counts, capacity=state.capacity, nodes=len(contents))
    partial = sum(0 < sum(node) < state.capacity for node in contents)
    return Frame(
        event=text,
        nodes=contents,
        used_gpus=state.used_gpus,
        partial_nodes=partial,
        inherent_partial_nodes=inherent,
        sif=round((partial - inherent) / len(contents), 4),
        wcc=state.wcc,
        migrations=migrations,
        undefined=undefined,
    )
