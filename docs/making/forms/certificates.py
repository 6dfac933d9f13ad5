"""The forms of certificates: what `oracle.certificate` and `oracle.migration_certificate` write."""

from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from docs.making.forms.base import Form, says

Pattern = tuple[int, ...]
Solution = Literal["optimal", "unknown"]


class NodeClass(Form):
    """All nodes that may hold the same patterns: at most `room` GPUs, or a part of `own`."""

    capacity: Annotated[int, says("GPUs the node offers")]
    held: Annotated[int, says("GPUs of instances that cannot move")]
    room: Annotated[int, says("GPUs that movable instances may take")]
    own: Annotated[Pattern, says("demands in GPUs that the node may keep although they exceed `room`")]


class Problem(Form):
    """What is to be packed: node classes and movable instances."""

    classes: Annotated[tuple[NodeClass, ...], says("the node classes, sorted")]
    nodes: Annotated[tuple[int, ...], says("how many nodes each class has")]
    demands: Annotated[tuple[tuple[int, int], ...], says("pairs: demand in GPUs, movable instances of it; descending")]


class PackedNodes(Form):
    """So many nodes of one class that hold one pattern."""

    node_class: Annotated[int, says("index into `classes`, from 0")]
    pattern: Annotated[Pattern, says("demands in GPUs of what a node holds beside what cannot move")]
    nodes: Annotated[int, says("number of nodes")]


class ChangedNodes(Form):
    """So many nodes of one class that hold `before` now and `after` in the end."""

    node_class: Annotated[int, says("index into `classes`, from 0")]
    before: Annotated[Pattern, says("demands in GPUs held now")]
    after: Annotated[Pattern, says("demands in GPUs held in the end")]
    nodes: Annotated[int, says("number of nodes")]


class FullCount(Form, tag_field="count", tag="full"):
    """Counts the full nodes."""


class LoadCount(Form, tag_field="count", tag="load"):
    """Counts the nodes of one class with one load."""

    node_class: Annotated[int, says("index into `classes`")]
    load: Annotated[int, says("movable GPUs")]


class PartialCount(Form, tag_field="count", tag="partial"):
    """Counts the partial nodes."""


class ArrivalCount(Form, tag_field="count", tag="arrivals"):
    """Counts the instances of one demand that change their node."""

    demand: Annotated[int, says("GPUs")]


class LoadBound(Form, tag_field="argument", tag="load bound"):
    """The sums of GPUs that full nodes can reach leave no other choice."""


class DualWeights(Form, tag_field="argument", tag="dual weights"):
    """Weights: integers over one denominator."""

    denominator: Annotated[int, says("at least 1")]
    demands: Annotated[tuple[int, ...], says("weight of each demand")]
    branches: Annotated[tuple[int, ...] | UnsetType, says("weight of each case on the way to this leaf")] = UNSET


class BranchTree(Form, tag_field="argument", tag="branch tree"):
    """Two cases, each with its own argument."""

    counted: Annotated[FullCount | LoadCount, says("what is counted")]
    at_most: Annotated[int, says("the first case is: at most so many")]
    below: Annotated["DualWeights | BranchTree", says("argument of the first case")]
    above: Annotated["DualWeights | BranchTree", says("argument of the second")]


class Removal(Form):
    """Full nodes set aside by a rule of the closed form."""

    pattern: Annotated[Pattern, says("demands in GPUs")]
    times: Annotated[int, says("nodes set aside")]


class Remainder(Form, tag_field="argument", tag="remainder"):
    """The GPUs in use are no multiple of 8, so one node is partial."""


class Reductions(Form, tag_field="argument", tag="reductions"):
    """Full nodes set aside, and an argument for the rest."""

    removals: Annotated[tuple[Removal, ...], says("in the order in which they are made")]
    rest: Annotated[Remainder | DualWeights, says("argument for what is left")]


class SolverProof(Form, tag_field="argument", tag="solver proof"):
    """The word of a solver: the one argument that is not checked again."""

    solver: Annotated[str, says("name and version")]
    claim: Annotated[int, says("the bound it claims")]


class MigrationWeights(Form, tag_field="argument", tag="migration weights"):
    """Weights: integers over one denominator; and residues."""

    denominator: Annotated[int, says("at least 1")]
    demands: Annotated[tuple[int, ...], says("weight of each demand")]
    partial: Annotated[int, says("weight of a partial node")]
    branches: Annotated[tuple[int, ...], says("weight of each case on the way to this leaf")]
    modulus: Annotated[int, says("1 if there are no residues")]
    residues: Annotated[tuple[int, ...], says("residue of each demand, then of a partial node")]


class MigrationBranches(Form, tag_field="argument", tag="migration branches"):
    """Two cases, each with its own argument."""

    counted: Annotated[PartialCount | FullCount | LoadCount | ArrivalCount, says("what is counted")]
    at_most: Annotated[int, says("the first case is: at most so many")]
    below: Annotated["MigrationWeights | MigrationBranches", says("argument of the first case")]
    above: Annotated["MigrationWeights | MigrationBranches", says("argument of the second")]


class Certificate(Form):
    """A packing, a lower bound on its partial nodes, and the argument for that bound."""

    schema: Literal["compass-abs/certificate/1"]
    problem: Annotated[Problem, says("what is packed")]
    packing: Annotated[tuple[PackedNodes, ...], says("what every node holds; every node is named once")]
    partial_nodes: Annotated[int, says("partial nodes of the packing: attained")]
    lower_bound: Annotated[int, says("partial nodes of every packing, at least: proved")]
    argument: Annotated[
        LoadBound | DualWeights | BranchTree | Reductions | SolverProof, says("why there cannot be fewer")
    ]
    status: Annotated[Solution, says("`optimal` if the bounds meet")]


class MigrationCertificate(Form):
    """Changes of nodes, a lower bound on the migrations they take, and the argument for it."""

    schema: Literal["compass-abs/migration-certificate/1"]
    problem: Annotated[Problem, says("node classes and movable instances")]
    present: Annotated[tuple[PackedNodes, ...], says("what every node holds now")]
    max_partial_nodes: Annotated[int, says("partial nodes that may be left")]
    changes: Annotated[tuple[ChangedNodes, ...], says("which nodes change, and how")]
    partial_nodes: Annotated[int, says("partial nodes afterwards")]
    migrations: Annotated[int, says("instances whose node changes: attained")]
    lower_bound: Annotated[int, says("migrations of every plan within the limit, at least: proved")]
    argument: Annotated[MigrationWeights | MigrationBranches | SolverProof, says("why there cannot be fewer")]
    status: Annotated[Solution, says("`optimal` if the bounds meet")]
