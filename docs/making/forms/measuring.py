"""The form of `sifopt measure -o json`."""

from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from docs.making.forms.base import Form, Overlooked, says
from docs.making.forms.certificates import Certificate, Solution


class Figures(Form):
    """Figures of one pool, or of all together."""

    nodes: Annotated[int, says("nodes, N")]
    gpus: Annotated[int, says("GPUs the nodes offer")]
    used_gpus: Annotated[int, says("GPUs held by running instances; may exceed `gpus`")]
    free_gpus: Annotated[int, says("GPUs that new instances can have; none where no CPU is left")]
    instances: Annotated[dict[str, int], says("running instances, by demand in GPUs")]
    partial_nodes: Annotated[int, says("nodes in use in part, Φ")]
    inherent_partial_nodes: Annotated[int, says("fewest partial nodes that moves reach, Φ*: attained")]
    inherent_lower_bound: Annotated[int, says("the same: proved")]
    ideal_partial_nodes: Annotated[int, says("fewest if all could move and every node could be used: attained")]
    ideal_lower_bound: Annotated[int, says("the same: proved")]
    avoidable_partial_nodes: Annotated[int, says("Φ − Φ*, nodes")]
    sif: Annotated[float, says("avoidable partial nodes as a share of all nodes, from 0 to 1")]
    empty_nodes: Annotated[int, says("nodes that offer GPUs and have none in use")]
    empty_nodes_after: Annotated[int, says("empty nodes once no avoidable partial node is left")]
    empty_nodes_after_status: Annotated[Solution, says("`optimal` if there cannot be more")]
    full_nodes: Annotated[int, says("nodes with all their GPUs in use, or more")]
    unschedulable_nodes: Annotated[int, says("nodes that take nothing new")]
    largest_free_block: Annotated[int, says("most of them on one node")]
    overcommitted: Annotated[tuple[str, ...], says("names of nodes that hold more than they offer")]
    wcc: Annotated[bool, says("whether the workload composition condition holds, in every pool")]
    wcc_supply: Annotated[int, says("1-GPU instances")]
    wcc_need: Annotated[int, says("1-GPU instances that would fill the slots of all others")]
    status: Annotated[Solution, says("`optimal` if both optima are settled; otherwise the bounds differ")]


class ConstraintCost(Form):
    """What one sort of constraint costs a pool by itself; those that forbid the same moves share what they cost."""

    constraint: Annotated[
        str, says("`cordoned`, `immovable`, `distinct nodes`, the kind of a node set, or the name of a resource")
    ]
    partial_nodes: Annotated[int, says("partial nodes that it costs, at least: Φ* with it less Φ* without it")]
    partial_nodes_at_most: Annotated[int, says("the same, at most")]
    certificate: Annotated[Certificate, says("evidence for Φ* without it")]


class Pool(Figures):
    """Figures of one pool, with their certificates."""

    pool: Annotated[str, says("name of the pool")]
    certificate: Annotated[Certificate, says("evidence for the inherent partial nodes")]
    ideal_certificate: Annotated[Certificate, says("evidence for the ideal ones")]
    constraints: Annotated[
        tuple[ConstraintCost, ...],
        says("what sorts of constraints cost, if Φ* may be above the ideal; those not named cost nothing"),
    ]


class DomainFigures(Form):
    """Figures in which nodes are NVLink domains and GPUs are panels."""

    domains: Annotated[int, says("domains")]
    panels: Annotated[int, says("panels of all domains")]
    used_panels: Annotated[int, says("panels in use")]
    instances: Annotated[dict[str, int], says("what is placed, by its size in panels")]
    partial_domains: Annotated[int, says("domains in use in part")]
    inherent_partial_domains: Annotated[int, says("the fewest that moves inside the pool reach: attained")]
    inherent_lower_bound: Annotated[int, says("the same: proved")]
    avoidable_partial_domains: Annotated[int, says("the difference of partial and inherent")]
    sif: Annotated[float, says("avoidable partial domains as a share of all domains, from 0 to 1")]
    empty_domains: Annotated[int, says("domains without a panel in use")]
    largest_free_block: Annotated[int, says("most free panels of one domain")]
    status: Annotated[Solution, says("`optimal` if the optimum is settled")]
    wcc: Annotated[bool | None, says("whether the condition holds; null where domains are of several sizes")]


class JointOptimum(Form):
    """The fewest partial panels, and then domains, if panels that no job holds whole opened and closed as one likes."""

    partial_panels: Annotated[int, says("panels in use in part")]
    partial_domains: Annotated[int, says("domains in use in part")]
    open_panels: Annotated[int, says("panels in use")]


class DomainPool(DomainFigures):
    """Figures of the domains of one pool."""

    pool: Annotated[str, says("name of the pool")]
    joint: Annotated[JointOptimum | None, says("both tiers at once; null where it is not known")]


class Domains(DomainFigures):
    """What `--hierarchical` adds."""

    nodes_without_domain: Annotated[int, says("nodes that name no domain; they are in no figure here")]
    pools: Annotated[tuple[DomainPool, ...], says("the same, pool by pool")]


class Measurement(Figures):
    """Printed by `sifopt measure -o json`."""

    schema: Literal["compass-abs/measure/1"]
    pool: Annotated[str | None, says("the only pool measured; null for all")]
    not_looked_at: Annotated[tuple[Overlooked, ...], says("constraints of its jobs that no figure takes into account")]
    pools: Annotated[tuple[Pool, ...], says("the same figures, pool by pool, with certificates")]
    domains: Annotated[Domains | UnsetType, says("with `--hierarchical`: the NVLink domains")] = UNSET
