"""Devices that are handed out dynamically (DRA): what nodes have, from ResourceSlices, and who holds it, from claims.

Whole devices count. Parts of devices (those that draw on shared counters, MIG) and devices that several may have at a
time are left out and listed, and what several pods hold together is taken off what the node offers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from oracle.snapshots.kubernetes import ledger as why
from oracle.snapshots.kubernetes.objects import ResourceClaimObject, ResourceSlice
from oracle.snapshots.model import MAX_GPUS_PER_NODE, SnapshotError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oracle.snapshots.kubernetes.devices import KubernetesOptions
    from oracle.snapshots.kubernetes.items import Item
    from oracle.snapshots.kubernetes.ledger import Ledger
    from oracle.snapshots.kubernetes.objects import Attribute, DeviceRequest, Pod, SliceDevice

DeviceId: TypeAlias = tuple[str, str, str]
"""Driver, pool and name of a device."""

_GPU = "gpu"
_PRODUCT = "productName"
_TYPE = "type"
_EXACT = "ExactCount"


@dataclass(frozen=True, slots=True)
class _Slice:
    node: str | None
    driver: str
    pool: str
    generation: int
    slices: int
    devices: tuple[SliceDevice, ...]


@dataclass(slots=True)
class Claims:
    """The slices and claims of an input."""

    options: KubernetesOptions
    _slices: list[_Slice] = field(default_factory=list[_Slice])
    _claims: dict[tuple[str, str], ResourceClaimObject] = field(
        default_factory=dict[tuple[str, str], ResourceClaimObject]
    )
    _templates: dict[tuple[str, str], ResourceClaimObject] = field(
        default_factory=dict[tuple[str, str], ResourceClaimObject]
    )
    offered: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    products: dict[str, str] = field(default_factory=dict[str, str])
    _node_of: dict[DeviceId, str] = field(default_factory=dict[DeviceId, str])

    def add(self, item: Item) -> bool:
        """Read an object if it is one of DRA; return whether it is."""
        kind, _, rest = item.kind.partition(" (")
        if rest.partition("/")[0] != "resource.k8s.io":
            return False
        if kind == "ResourceSlice":
            self._add_slice(item)
        elif kind in {"ResourceClaim", "ResourceClaimTemplate"}:
            claim = item.decode(ResourceClaimObject)
            if claim.metadata is None or not claim.metadata.name:
                raise item.place.error("metadata.name", "missing; every claim has a name")
            kept = self._claims if kind == "ResourceClaim" else self._templates
            kept[claim.metadata.namespace or "default", claim.metadata.name] = claim
        else:
            return kind == "DeviceClass"
        return True

    def _add_slice(self, item: Item) -> None:
        spec = item.decode(ResourceSlice).spec
        if spec is None or not spec.driver or spec.pool is None:
            raise item.place.error("spec", "expected the driver and the pool of a ResourceSlice")
        pool = spec.pool
        self._slices.append(
            _Slice(
                spec.node_name,
                spec.driver,
                pool.name or "",
                pool.generation or 0,
                pool.resource_slice_count or 1,
                tuple(spec.devices or ()),
            )
        )

    def settle(self, pods: Iterable[tuple[str, Pod]], ledger: Ledger) -> dict[str, dict[str, int]]:
        """Return the whole devices that each pod holds or waits for, by driver; find out what nodes offer.

        Pods that are in the ledger for their claims are not there.

        Parameters
        ----------
        pods
            The pods that have claims, each with its unique name.
        ledger
            Is told of all that is left out.
        """
        self._read_slices(ledger)
        asked: dict[str, dict[str, int]] = {}
        holders: dict[DeviceId, list[str]] = {}
        for name, pod in pods:
            held, wanted = self._of_pod(pod)
            if held is None:
                ledger.add(why.PODS_CLAIMS, name)
                continue
            for device in held:
                if device in self._node_of:
                    holders.setdefault(device, []).append(name)
            asked[name] = wanted
        self._count(holders, asked, ledger)
        return asked

    def _count(self, holders: Mapping[DeviceId, list[str]], asked: dict[str, dict[str, int]], ledger: Ledger) -> None:
        """Count what one pod alone holds as its own; all else that is allocated is off the count of its node."""
        sharing: set[str] = set()
        for device in self._allocated() | holders.keys():
            if device not in self._node_of:
                continue
            names = holders.get(device, [])
            if len(names) == 1:
                asked[names[0]][device[0]] = asked[names[0]].get(device[0], 0) + 1
            else:
                node = self._node_of[device]
                self.offered[node][device[0]] -= 1
                ledger.add(why.CLAIMED_OTHERWISE, f"{node}: {device[2]}")
                sharing.update(names)
        for name in sharing:
            ledger.add(why.PODS_SHARED, name)
            if not asked[name]:
                del asked[name]

    def _read_slices(self, ledger: Ledger) -> None:
        newest: dict[tuple[str, str], int] = {}
        for one in self._slices:
            key = one.driver, one.pool
            newest[key] = max(newest.get(key, 0), one.generation)
        current = [one for one in self._slices if one.generation == newest[one.driver, one.pool]]
        seen: dict[tuple[str, str], int] = {}
        for one in current:
            seen[one.driver, one.pool] = seen.get((one.driver, one.pool), 0) + 1
            if not _is_counted(one.driver, self.options):
                ledger.add(why.DEVICES_UNCOUNTED, f"{one.driver} of {one.node or 'several nodes'}")
            elif one.node is None:
                ledger.add(why.DEVICES_NOT_OF_A_NODE, f"{one.driver} pool {one.pool}")
            else:
                self._read_devices(one, one.node, ledger)
        for node, counts in self.offered.items():
            if sum(counts.values()) > MAX_GPUS_PER_NODE:
                problem = (
                    f"expected at most {MAX_GPUS_PER_NODE} devices on node {shown(node)}, got {sum(counts.values())}"
                )
                raise SnapshotError("ResourceSlices", problem)
        for one in current:
            if seen[one.driver, one.pool] < one.slices:
                ledger.add(why.SLICES_MISSING, f"{one.driver} pool {one.pool}")

    def _read_devices(self, one: _Slice, node: str, ledger: Ledger) -> None:
        counts = self.offered.setdefault(node, {})
        counts.setdefault(one.driver, 0)
        for device in one.devices:
            name = device.name or ""
            if not _is_whole(device):
                ledger.add(why.DEVICES_DIVIDED, f"{node}: {name}")
                continue
            if (one.driver, one.pool, name) in self._node_of:
                continue
            self._node_of[one.driver, one.pool, name] = node
            counts[one.driver] += 1
            product = _attribute(device, _PRODUCT)
            if product:
                self.products.setdefault(node, product)

    def _of_pod(self, pod: Pod) -> tuple[set[DeviceId] | None, dict[str, int]]:
        """Return the devices that a pod's claims have, and what they wait for; None if that is not known."""
        namespace = (pod.metadata.namespace if pod.metadata else None) or "default"
        statuses = (pod.status.resource_claim_statuses if pod.status else None) or ()
        made = {one.name: one.resource_claim_name for one in statuses}
        held: set[DeviceId] = set()
        wanted: dict[str, int] = {}
        is_bound = bool(pod.spec and pod.spec.node_name)
        for reference in (pod.spec.resource_claims if pod.spec else None) or ():
            name = reference.resource_claim_name or made.get(reference.name)
            claim = self._claims.get((namespace, name)) if name else None
            if claim is None and not is_bound:
                claim = self._templates.get((namespace, reference.resource_claim_template_name or ""))
            if claim is None:
                return None, {}
            devices = _allocation(claim)
            if devices is not None:
                held |= devices
            elif is_bound or not _add_wanted(claim, wanted, self.options):
                return None, {}
        return held, wanted

    def _allocated(self) -> set[DeviceId]:
        return {device for claim in self._claims.values() for device in _allocation(claim) or ()}


def _is_counted(driver: str, options: KubernetesOptions) -> bool:
    return driver in options.resources or ("resources" not in options.asked and driver.partition(".")[0] == _GPU)


def _is_whole(device: SliceDevice) -> bool:
    basic = device.basic or device
    is_shared = device.allow_multiple_allocations or bool(basic.consumes_counters)
    return not is_shared and (_attribute(device, _TYPE) or _GPU) == _GPU


def _attribute(device: SliceDevice, name: str) -> str | None:
    attributes: Mapping[str, Attribute] = (device.basic or device).attributes or {}
    found = (value.string for key, value in attributes.items() if key.rpartition("/")[2] == name)
    return next(found, None)


def _allocation(claim: ResourceClaimObject) -> set[DeviceId] | None:
    allocation = claim.status.allocation if claim.status else None
    if allocation is None:
        return None
    results = (allocation.devices.results if allocation.devices else None) or ()
    return {(one.driver or "", one.pool or "", one.device or "") for one in results if not one.admin_access}


def _add_wanted(claim: ResourceClaimObject, wanted: dict[str, int], options: KubernetesOptions) -> bool:
    """Add what a claim without an allocation waits for; return whether that can be told."""
    spec = claim.spec.spec if claim.spec and claim.spec.spec else claim.spec
    requests = (spec.devices.requests if spec and spec.devices else None) or ()
    for request in requests:
        exact: DeviceRequest = request.exactly or request
        driver = exact.device_class_name or ""
        # A class of the driver's own name takes all its devices; of others the selectors are to be known.
        if not _is_counted(driver, options) or exact.selectors or request.first_available:
            return False
        if (exact.allocation_mode or _EXACT) != _EXACT or not 0 < (exact.count or 1) <= MAX_GPUS_PER_NODE:
            return False
        wanted[driver] = wanted.get(driver, 0) + (exact.count or 1)
    return bool(requests)
