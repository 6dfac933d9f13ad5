"""How many GPUs of a node are taken by pods that share them, so that nothing is counted free that is not.

Who shares a GPU with whom is said in different ways: run:ai and KAI label the pods that share one with its GPU group
and reserve the GPU through a pod that asks for it as a whole; run:ai before 2.9 and Alibaba's cGPU annotate the index
of the GPU; HAMi and Volcano annotate its UUID. Where nothing is said, the pods are packed onto as few GPUs as their
shares allow, a pod whose share is unknown onto a GPU of its own.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from oracle.snapshots.kubernetes.devices import PERCENTAGES, VOLCANO_NUMBER
from oracle.snapshots.kubernetes.pods import GPU_FRACTION, GPU_INDEX, GPU_MEMORY, Use
from oracle.snapshots.model import MAX_GPUS_PER_NODE, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.snapshots.kubernetes.pods import GpuPod

_GROUP = "runai-gpu-group"
_GROUPS = "runai-gpu-group/"  # begins a label for each GPU of a pod that shares several
_NUMBER_OF_DEVICES = "gpu-fraction-num-devices"
_INDEX_ANNOTATIONS = (GPU_INDEX, "ALIYUN_COM_GPU_MEM_IDX")
_UUID_ANNOTATIONS = ("hami.io/vgpu-devices-allocated", "volcano.sh/vgpu-ids-new")
_UUID = re.compile(r"(?:^|[:;])([^,:;]+),")
_DECIMAL = re.compile(r"[0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9}")


def gpus_taken(pods: Sequence[GpuPod], gpu_memory: str | None) -> int:
    """Return the number of a node's GPUs that pods sharing them take, the reserved ones included.

    Parameters
    ----------
    pods
        The pods on the node that share GPUs, and those that reserve GPUs for them.
    gpu_memory
        Memory of one GPU of the node in MiB, as its label ``nvidia.com/gpu.memory`` has it.
    """
    known: set[str] = set()
    reserved: set[str] = set()
    reservations = unnamed_reservations = 0
    shares: list[Fraction] = []
    most_of_one_pod = 0
    for pod in pods:
        devices = _devices(pod)
        if pod.use is Use.RESERVATION:
            reserved |= devices
            reservations += pod.demand
            unnamed_reservations += 0 if devices else pod.demand
        elif devices:
            known |= devices
        else:
            share, count = _share(pod, gpu_memory)
            shares += [share] * count
            most_of_one_pod = max(most_of_one_pod, count)
    # No GPU counts twice: a pod on a GPU that no reservation names may be on one reserved without a name, and a pod
    # that does not say where it is may be on any that is reserved.
    unreserved = max(0, len(known - reserved) - unnamed_reservations)
    unplaced = max(_gpus_for(shares), most_of_one_pod)
    return reservations + unreserved + max(0, unplaced - reservations)


def _devices(pod: GpuPod) -> set[str]:
    labels, annotations = pod.metadata.labels or {}, pod.metadata.annotations or {}
    groups = {key.removeprefix(_GROUPS) for key in labels if key.startswith(_GROUPS)}
    if group := labels.get(_GROUP):
        groups.add(group)
    if groups:
        return {f"group {group}" for group in groups}
    for key in _UUID_ANNOTATIONS:
        if found := _UUID.findall(annotations.get(key) or ""):
            return {f"device {uuid}" for uuid in found}
    indexes = (annotations.get(key) or "" for key in _INDEX_ANNOTATIONS)
    return {f"index {index}" for value in indexes for index in value.split(",") if index.isdecimal()}


def _share(pod: GpuPod, gpu_memory: str | None) -> tuple[Fraction, int]:
    """Return the share of a GPU and on how many GPUs the pod has it."""
    annotations = pod.metadata.annotations or {}
    if pod.gpus:
        return Fraction(1), min(pod.demand, MAX_GPUS_PER_NODE)
    if GPU_FRACTION in annotations or GPU_MEMORY in annotations:
        return _annotated_share(pod, gpu_memory), _annotated_count(pod)
    if percentage := max((pod.shared.get(key, 0) for key in PERCENTAGES), default=0):
        return min(Fraction(percentage, 100), Fraction(1)), min(-(-percentage // 100), MAX_GPUS_PER_NODE)
    return Fraction(1), min(pod.shared.get(VOLCANO_NUMBER) or 1, MAX_GPUS_PER_NODE)


def _annotated_share(pod: GpuPod, gpu_memory: str | None) -> Fraction:
    annotations = pod.metadata.annotations or {}
    text = annotations.get(GPU_FRACTION)
    if text is not None:
        share = _decimal(text)
        if share is None or not 0 < share <= 1:
            raise _annotation_error(pod, GPU_FRACTION, "a share of one GPU, more than 0 and at most 1", text)
        return share
    text = annotations.get(GPU_MEMORY) or ""
    memory, whole = _decimal(text), _decimal(gpu_memory or "")
    if memory is None:
        raise _annotation_error(pod, GPU_MEMORY, "a number of MiB", text)
    return min(memory / whole, Fraction(1)) if whole else Fraction(1)


def _annotated_count(pod: GpuPod) -> int:
    text = (pod.metadata.annotations or {}).get(_NUMBER_OF_DEVICES)
    if text is None:
        return 1
    count = _decimal(text)
    if count is None or count.denominator != 1 or not 1 <= count <= MAX_GPUS_PER_NODE:
        raise _annotation_error(pod, _NUMBER_OF_DEVICES, "a number of GPUs", text)
    return count.numerator


def _annotation_error(pod: GpuPod, key: str, expected: str, got: str) -> Exception:
    return pod.place.error(f'metadata.annotations["{key}"]', f"expected {expected}, got {shown(got)}")


def _decimal(text: str) -> Fraction | None:
    return Fraction(text) if _DECIMAL.fullmatch(text) else None


def _gpus_for(shares: Sequence[Fraction]) -> int:
    """Return how many GPUs first-fit-decreasing needs: never fewer than the sum of the shares rounded up."""
    free: list[Fraction] = []
    for share in sorted(shares, reverse=True):
        for i, room in enumerate(free):
            if share <= room:
                free[i] = room - share
                break
        else:
            free.append(1 - share)
    return len(free)
