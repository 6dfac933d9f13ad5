"""From files to one snapshot: read, tell the format, hand over to its reader."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oracle.snapshots.detection import Format, detect
from oracle.snapshots.document import read_document
from oracle.snapshots.kubernetes import KubernetesOptions, read_kubernetes
from oracle.snapshots.model import Snapshot, SnapshotError, shown
from oracle.snapshots.native import read_native
from oracle.snapshots.slurm import SlurmOptions, read_slurm
from oracle.snapshots.source import MAX_INPUT, STANDARD_INPUT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from oracle.snapshots.document import Document

# Left unsaid, an option without effect would give a result that is not the one asked for.
_FOREIGN_RESOURCES = "resources name what Kubernetes counts as a GPU, and this is a {} snapshot"


def load_snapshot(
    *sources: str | Path,
    format: Format | None = None,  # noqa: A002 - the name is fixed by the public contract
    resources: Iterable[str] | None = None,
    pool_label: str | None = None,
    domain_label: str | None = None,
    max_input: int = MAX_INPUT,
) -> Snapshot:
    """Return the snapshot that the given files make up together.

    Parameters
    ----------
    *sources
        Files, or ``-`` for standard input; gzip is unpacked. Several are the parts of one snapshot, such as the nodes
        and the pods of a Kubernetes cluster.
    format
        ``"kubernetes"``, ``"slurm"`` or ``"native"``; told from the content if left out.
    resources
        Kubernetes only: the resources that count as GPUs, such as ``amd.com/gpu``.
    pool_label
        Kubernetes: the node label whose value is the node's pool. Slurm: ``"type"``, the type of the GPUs (the
        default), or ``"partition"``, the set of the node's partitions.
    domain_label
        Kubernetes only: the node label whose value is the node's NVLink domain (``"nvidia.com/gpu.clique"`` if left
        out).
    max_input
        Bytes at most of each file, unpacked; of YAML a sixteenth of it.

    Raises
    ------
    SnapshotError
        A file cannot be read or is in no known format, the formats are mixed, an option names what is not in the input,
        or the reader found a fault; the message names the file and the place in it.
    """
    if not sources:
        raise SnapshotError("", "expected at least one snapshot file")
    if sum(source == STANDARD_INPUT for source in sources) > 1:
        raise SnapshotError("", "standard input can be only one of the parts of a snapshot")
    documents = [read_document(source, max_input=max_input) for source in sources]
    found = format or _common_format(documents)
    if domain_label is None:
        return _READERS[found](documents, resources, pool_label)
    if found != "kubernetes":
        raise SnapshotError("", f"only Kubernetes has domain labels, and this is {found}: got {shown(domain_label)}")
    return _load_kubernetes(documents, resources, pool_label, domain_label)


def _common_format(documents: Sequence[Document]) -> Format:
    first = documents[0]
    common = detect(first)
    for document in documents[1:]:
        found = detect(document)
        if found != common:
            problem = f"this is {found}, but {first.name} is {common}; the parts of a snapshot have one format"
            raise document.error("", problem)
    return common


def _load_native(documents: Sequence[Document], resources: Iterable[str] | None, pool_label: str | None) -> Snapshot:
    if resources is not None:
        raise SnapshotError("", _FOREIGN_RESOURCES.format("native"))
    if pool_label is not None:
        raise SnapshotError(
            "", f"a native snapshot names its pools itself: no pool label applies, got {shown(pool_label)}"
        )
    if len(documents) > 1:
        raise documents[1].error("", f"a native snapshot is one file, and {documents[0].name} is one already")
    return read_native(documents[0])


def _load_kubernetes(
    documents: Sequence[Document],
    resources: Iterable[str] | None,
    pool_label: str | None,
    domain_label: str | None = None,
) -> Snapshot:
    options = KubernetesOptions()
    if resources is not None:
        names = (resources,) if isinstance(resources, str) else tuple(resources)
        options = replace(options, resources=names, asked=options.asked | {"resources"})
    if pool_label is not None:
        options = replace(options, pool_label=pool_label, asked=options.asked | {"pool_label"})
    if domain_label is not None:
        options = replace(options, domain_label=domain_label, asked=options.asked | {"domain_label"})
    return read_kubernetes(documents, options)


def _load_slurm(documents: Sequence[Document], resources: Iterable[str] | None, pool_label: str | None) -> Snapshot:
    if resources is not None:
        raise SnapshotError("", _FOREIGN_RESOURCES.format("Slurm"))
    if pool_label is None:
        return read_slurm(documents)
    if pool_label not in {"type", "partition"}:
        problem = f"expected 'type' or 'partition' as the pool label of a Slurm snapshot, got {shown(pool_label)}"
        raise SnapshotError("", problem)
    return read_slurm(documents, SlurmOptions(pool="type" if pool_label == "type" else "partition"))


_READERS: dict[Format, Callable[[Sequence[Document], Iterable[str] | None, str | None], Snapshot]] = {
    "kubernetes": _load_kubernetes,
    "slurm": _load_slurm,
    "native": _load_native,
}
