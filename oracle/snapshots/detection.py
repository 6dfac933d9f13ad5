"""Which format an input is in, told from its content: file names prove nothing, and standard input has none."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

import msgspec

from oracle.snapshots.document import Document, decode_json, json_lines
from oracle.snapshots.kubernetes import is_kubernetes
from oracle.snapshots.model import shown
from oracle.snapshots.slurm import is_slurm_json, is_slurm_text

Format: TypeAlias = Literal["kubernetes", "slurm", "native"]

EXPECTED = (
    "expected the output of `kubectl get nodes,pods -A -o json`, of `scontrol show nodes --json` with `squeue --json`, "
    "of `scontrol show node -d` with `scontrol show job -d`, or the format that `sifopt schema` prints"
)

# What tells formats apart stands at the top; the rest of a large input is not searched.
_HEAD_BYTES = 65_536
_KUBERNETES_YAML = re.compile(rb"^(?:- )?(?:apiVersion|kind|items):", re.MULTILINE)
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_ABSENT = msgspec.Raw()


class _Probe(msgspec.Struct, rename={"api_version": "apiVersion", "raw_objects": "rawObjects"}):
    """The top-level keys that tell formats apart; `Raw` leaves their values undecoded, however large."""

    schema: msgspec.Raw = _ABSENT
    pending: msgspec.Raw = _ABSENT
    api_version: msgspec.Raw = _ABSENT
    kind: object = _ABSENT
    items: msgspec.Raw = _ABSENT
    nodes: msgspec.Raw = _ABSENT
    pods: msgspec.Raw = _ABSENT
    raw_objects: msgspec.Raw = _ABSENT
    jobs: msgspec.Raw = _ABSENT
    reservations: msgspec.Raw = _ABSENT
    meta: msgspec.Raw = _ABSENT
    sinfo: msgspec.Raw = _ABSENT
    job_id: msgspec.Raw = _ABSENT
    name: msgspec.Raw = _ABSENT
    gres: msgspec.Raw = _ABSENT

    def keys(self) -> dict[str, object]:
        """Return the keys that are there, with their values; those that are `Raw` stay so."""
        names = zip(self.__struct_encode_fields__, self.__struct_fields__, strict=True)
        values: dict[str, object] = {key: getattr(self, name) for key, name in names}
        return {key: value for key, value in values.items() if value is not _ABSENT}


def detect(document: Document) -> Format:
    """Return the format of the document.

    Raises
    ------
    SnapshotError
        It is in none of the formats, or is malformed JSON.
    """
    head = document.content[:_HEAD_BYTES].lstrip()
    found: Format | None = None
    if lines := json_lines(document.content):
        # Only what Kubernetes has comes object by object.
        probe = decode_json(Document(document.name, lines[0]), _Probe)
        found = "kubernetes" if is_kubernetes(probe.keys()) else _detect_json(decode_json(document, _Probe))
    elif head.startswith(b"{"):
        found = _detect_json(decode_json(document, _Probe))
    elif head.startswith(b"["):
        found = _detect_array(document)
    elif _KUBERNETES_YAML.search(head):
        found = "kubernetes"
    elif is_slurm_text(head):
        found = "slurm"
    if found is None:
        raise document.error("", f"{_unknown(document, head)}; {EXPECTED}")
    return found


def _detect_json(probe: _Probe) -> Format | None:
    keys = probe.keys()
    if "schema" in keys or _has_native_nodes(probe):
        return "native"
    if is_kubernetes(keys):
        return "kubernetes"
    return "slurm" if is_slurm_json(keys) else None


def _detect_array(document: Document) -> Format | None:
    for item in decode_json(document, list[msgspec.Raw]):
        content = bytes(item)
        if content.startswith(b"{"):
            return "kubernetes" if is_kubernetes(decode_json(Document(document.name, content), _Probe).keys()) else None
    return None


def _has_native_nodes(probe: _Probe) -> bool:
    # A native file that lacks its "schema" shall be told so, not be taken for Slurm's, whose nodes have "gres".
    first = bytes(memoryview(probe.nodes)[:_HEAD_BYTES])
    return b'"gpus"' in first and b'"gres"' not in first


def _unknown(document: Document, head: bytes) -> str:
    if not head:
        return "the input is empty"
    if document.content.startswith(_UTF16_MARKS):
        return "this is UTF-16, as PowerShell's `>` writes it; save it as UTF-8"
    beginning = " ".join(head[:200].decode("utf-8", "replace").split())[:40]
    return f"cannot tell what this is, it begins with {shown(beginning)}"
