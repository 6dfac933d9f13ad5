"""How many GPUs a pod holds or waits for, and how much of all else, as Kubernetes computes it."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from oracle.snapshots.kubernetes.devices import Device, device_of, other_devices
from oracle.snapshots.model import MAX_GPUS_PER_NODE, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oracle.snapshots.kubernetes.devices import KubernetesOptions
    from oracle.snapshots.kubernetes.items import Place
    from oracle.snapshots.kubernetes.objects import Container, PodSpec, Quantities

# Two digits of exponent reach beyond exa; more would make numbers that take all memory.
_QUANTITY = re.compile(r"([+-]?(?:[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18}))(?:[eE]([+-]?[0-9]{1,2})|([a-zA-Z]+))?")
_SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    **{suffix: Fraction(10**power) for suffix, power in zip("kMGTPE", range(3, 19, 3), strict=True)},
    **{
        suffix: Fraction(2**power)
        for suffix, power in zip(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), range(10, 61, 10), strict=True)
    },
}
_ALWAYS = "Always"

_CPU = "cpu"
_PODS = "pods"
_STORAGE = frozenset({"memory", "ephemeral-storage", "storage"})
_HUGE_PAGES = "hugepages-"

# A sum of processor time or memory, or a number of devices.
Amount = TypeVar("Amount", int, Fraction)


def whole_number(place: Place, path: str, value: float | str | None) -> int:
    """Return a Kubernetes quantity as a whole number of devices; absent is 0.

    ``8``, ``"8"``, ``"8000m"``, ``"1e1"`` and ``"1k"`` are whole numbers in Kubernetes' notation.

    Raises
    ------
    SnapshotError
        Not a quantity, a fraction, or less than 0.
    """
    if value is None:
        return 0
    amount = _amount(value)
    if amount is None or amount.denominator != 1 or amount < 0:
        raise place.error(path, f"expected a whole number of devices, got {shown(value)}")
    return amount.numerator


def peak_demand(containers: Iterable[Amount], initial: Iterable[tuple[Amount, bool]]) -> Amount | int:
    """Return the most of something that a pod uses at once, which is what the scheduler sets aside for it.

    Init containers run one after the other, in order, before the containers; those that are sidecars (the flag) go on
    running beside all that comes later.

    Parameters
    ----------
    containers
        Demands of the containers proper, which run side by side.
    initial
        Demand of each init container in the order of the spec, and whether it is a sidecar.

    Notes
    -----
    KEP-753, "Resources calculation for scheduling and pod admission".
    """
    sidecars: Amount | int = 0
    peak: Amount | int = 0
    for demand, is_sidecar in initial:
        peak = max(peak, sidecars + demand)
        if is_sidecar:
            sidecars += demand
    return max(peak, sidecars + sum(containers))


def read_demands(place: Place, spec: PodSpec, options: KubernetesOptions) -> dict[Device, dict[str, int]]:
    """Return what the pod at `place` asks for, by kind of device and resource key; nothing that comes to 0.

    Neither the pod's overhead nor its pod-level resources are looked at: both are about processor and memory, the API
    refuses devices there.
    """
    containers, initial = spec.containers or [], spec.init_containers or []
    demands: dict[Device, dict[str, int]] = {}
    for key in _keys([*containers, *initial]):
        device = device_of(key, options)
        if device is None:
            continue
        amounts = _asked(place.at("spec.containers"), containers, key)
        before = _asked(place.at("spec.initContainers"), initial, key)
        sidecars = (container.restart_policy == _ALWAYS for container in initial)
        demand = peak_demand(amounts, zip(before, sidecars, strict=True))
        if device is Device.WHOLE and demand > MAX_GPUS_PER_NODE:
            problem = f"expected a demand of at most {MAX_GPUS_PER_NODE} GPUs, got {demand} {key}"
            raise place.error("spec.containers", problem)
        if demand:
            demands.setdefault(device, {})[key] = demand
    return demands


def read_further(place: Place, spec: PodSpec, options: KubernetesOptions) -> dict[str, int]:
    """Return what the pod at `place` asks for besides devices that are counted or known: CPU, memory, anything else.

    Processor and memory may be asked for by the pod as a whole, and a runtime has its overhead.
    """
    containers, initial = spec.containers or [], spec.init_containers or []
    whole, overhead = spec.resources.requests if spec.resources else None, spec.overhead or {}
    asked: dict[str, int] = {}
    for key in dict.fromkeys([*_keys([*containers, *initial]), *(whole or ()), *overhead]):
        if not is_further(key, options):
            continue
        if whole and whole.get(key) is not None:
            amount = _quantity(place, f'spec.resources.requests["{key}"]', whole[key])
        else:
            amounts = [_requested(place.at(f"spec.containers[{i}]"), c, key) for i, c in enumerate(containers)]
            before = [_requested(place.at(f"spec.initContainers[{i}]"), c, key) for i, c in enumerate(initial)]
            sidecars = (container.restart_policy == _ALWAYS for container in initial)
            amount = Fraction(peak_demand(amounts, zip(before, sidecars, strict=True)))
        amount += _quantity(place, f'spec.overhead["{key}"]', overhead.get(key))
        if amount:
            asked[named(key)] = math.ceil(amount / _unit(key))
    return asked


def further_of_node(place: Place, allocatable: Quantities, options: KubernetesOptions) -> dict[str, int]:
    """Return what a node has of the same, rounded down."""
    return {
        named(key): math.floor(_quantity(place, f'["{key}"]', value) / _unit(key))
        for key, value in allocatable.items()
        if is_further(key, options)
    }


def other_devices_of(spec: PodSpec, options: KubernetesOptions) -> list[str]:
    """Return the extended resources that a pod asks for and that are nothing we know."""
    sections = [
        quantities
        for container in [*(spec.containers or ()), *(spec.init_containers or ())]
        if container.resources is not None
        for quantities in (container.resources.requests, container.resources.limits)
    ]
    return sorted({key for quantities in sections for key in other_devices(quantities or {}, options)})


def is_further(key: str, options: KubernetesOptions) -> bool:
    """Return whether a resource is neither a GPU, nor a part of one, nor counted otherwise."""
    return key != _PODS and device_of(key, options) is None


def named(key: str) -> str:
    """Return what a resource is called in a snapshot: its name, with the unit where that is not one of its own."""
    if key == _CPU:
        return "cpu_millicores"
    return f"{key}_mib" if _is_storage(key) else key


def _unit(key: str) -> Fraction:
    if key == _CPU:
        return Fraction(1, 1000)
    return Fraction(1 << 20) if _is_storage(key) else Fraction(1)


def _is_storage(key: str) -> bool:
    return key in _STORAGE or key.startswith(_HUGE_PAGES)


def _requested(place: Place, container: Container, key: str) -> Fraction:
    """Return what a container requests; a limit stands in for a request that is not there, as the API server has it."""
    resources = container.resources
    for name, quantities in (("requests", resources.requests), ("limits", resources.limits)) if resources else ():
        if quantities and quantities.get(key) is not None:
            return _quantity(place, f'resources.{name}["{key}"]', quantities[key])
    return Fraction(0)


def _quantity(place: Place, path: str, value: float | str | None) -> Fraction:
    if value is None:
        return Fraction(0)
    amount = _amount(value)
    if amount is None or amount < 0:
        raise place.error(path, f"expected a quantity of at least 0, got {shown(value)}")
    return amount


def _keys(containers: Sequence[Container]) -> list[str]:
    keys: dict[str, None] = {}
    for container in containers:
        if container.resources is not None:
            keys.update(dict.fromkeys(container.resources.requests or ()))
            keys.update(dict.fromkeys(container.resources.limits or ()))
    return [*keys]


def _asked(place: Place, containers: Sequence[Container], key: str) -> list[int]:
    return [_asked_by(place.at(f"[{i}].resources"), container, key) for i, container in enumerate(containers)]


def _asked_by(place: Place, container: Container, key: str) -> int:
    if container.resources is None:
        return 0
    # Requests count; where only limits are given, the API server sets requests to the same.
    sections: Mapping[str, Quantities | None]
    sections = {"requests": container.resources.requests, "limits": container.resources.limits}
    for name, quantities in sections.items():
        if quantities and quantities.get(key) is not None:
            return whole_number(place, f'{name}["{key}"]', quantities[key])
    return 0


@lru_cache(maxsize=4096)
def _amount(value: float | str) -> Fraction | None:
    if not isinstance(value, str):
        return Fraction(value) if math.isfinite(value) else None
    match = _QUANTITY.fullmatch(value)
    if match is None:
        return None
    number, exponent, suffix = match.groups()
    if suffix is not None:
        scale = _SUFFIXES.get(suffix)
        return None if scale is None else Fraction(number) * scale
    return Fraction(number) * Fraction(10) ** int(exponent or 0)
