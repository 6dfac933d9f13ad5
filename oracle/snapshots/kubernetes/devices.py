"""Which resource keys are GPUs: whole ones that are counted, and the many ways to share one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

NVIDIA = "nvidia.com/gpu"
NVIDIA_SHARED = "nvidia.com/gpu.shared"
VOLCANO_NUMBER = "volcano.sh/vgpu-number"
MIG_PREFIX = "nvidia.com/mig-"

# Resources of which 100 units are one GPU.
PERCENTAGES = (
    "tencent.com/vcuda-core",
    "aliyun.com/gpu-core.percentage",
    "koordinator.sh/gpu-core",
    "koordinator.sh/gpu",
)

_SHARED_PREFIXES = (
    "nvidia.com/gpu.",  # gpu.shared: replicas of the device plugin under their own name
    "nvidia.com/gpumem",  # HAMi: memory, also as a percentage
    "nvidia.com/gpucores",  # HAMi
    "aliyun.com/gpu-mem",
    "aliyun.com/gpu-core",
    "tencent.com/vcuda-",
    "volcano.sh/vgpu-",
    "volcano.sh/gpu-memory",
    "koordinator.sh/gpu",
)


# Extended resources that are well known, and no accelerators: networks, files and the like.
_NO_ACCELERATORS = (
    "rdma/",
    "vpc.amazonaws.com/",
    "devices.kubevirt.io/",
    "smarter-devices/",
    "networking.gke.io",
    "openshift.io/",
    "intel.com/intel_sriov",
    "kubernetes.io/",
)

# Labels by which vendors and clouds name the GPU of a node; at last, the type of the machine.
_LABELS_OF_PRODUCTS = (
    "amd.com/gpu.product-name",
    "gpu.intel.com/product",
    "gpu.nvidia.com/model",
    "gpu.nvidia.com/class",
    "cloud.google.com/gke-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
    "k8s.amazonaws.com/accelerator",
    "karpenter.azure.com/sku-gpu-name",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesOptions:
    """What the reader cannot know by itself.

    Attributes
    ----------
    resources
        The extended resources whose units are whole GPUs. Given on the command line (``--resource``), they replace
        these.
    pool_label
        The node label whose value is the node's pool.
    domain_label
        The node label whose value is the node's NVLink domain.
    asked
        Which of these somebody asked for: what matches nothing in the input is then an error, likely a misspelt name.
    """

    resources: tuple[str, ...] = (NVIDIA, "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe")
    pool_label: str = "nvidia.com/gpu.product"
    domain_label: str = "nvidia.com/gpu.clique"
    asked: frozenset[Literal["resources", "pool_label", "domain_label"]] = frozenset()

    @property
    def pool_labels(self) -> tuple[str, ...]:
        """The labels that may tell the pool, the best first; one that was asked for counts alone."""
        return (self.pool_label, *(() if "pool_label" in self.asked else _LABELS_OF_PRODUCTS))


def other_devices(quantities: Mapping[str, object], options: KubernetesOptions) -> list[str]:
    """Return the extended resources that are nothing we know, of which there are some: they may be accelerators."""
    return sorted(
        key
        for key, value in quantities.items()
        if "/" in key
        and device_of(key, options) is None
        and not key.startswith(_NO_ACCELERATORS)
        and value is not None
        and str(value) != "0"
    )


class Device(Enum):
    """What one unit of a resource is."""

    WHOLE = auto()
    MIG = auto()
    SHARED = auto()
    UNCOUNTED = auto()


def device_of(key: str, options: KubernetesOptions) -> Device | None:
    """Return what a unit of this resource is, None if it has nothing to do with GPUs.

    What the user names is counted, whatever it is. A resource with "gpu" in its name that is neither counted nor known
    as a way of sharing is worth a word: the cluster would look smaller than it is.
    """
    if key in options.resources:
        return Device.WHOLE
    if key.startswith(MIG_PREFIX):
        return Device.MIG
    if key.startswith(_SHARED_PREFIXES):
        return Device.SHARED
    return Device.UNCOUNTED if "gpu" in key else None
