"""The forms of certificates: what `oracle.optimum.certificate` and `oracle.optimum.migration_certificate` write."""

from typing import Annotated, Literal

from docs.making.forms.base import Form, says

# Kinds of instances: GPUs, and from 10^12 on the number of a group.
Pattern = tuple[int, ...]
Solution = Literal["optimal", "unknown"]


class NodeClass(Form):
    """All nodes that may hold the same patterns: at most `room` GPUs, or a part of `own`."""

    capacity: Annotated[int, says("GPUs the node offers")]
    held: Annotated[int, says("GPUs of instances that cannot move")]
    room: Annotated[int, says("GPUs that movable instances may take")]
    own: Annotated[Pattern, says("kinds of instances that the node may keep although they exceed `room`")]
    rules: Annotated[
        tuple[Pattern, tuple[tuple[int, int], ...], tuple[int, ...], tuple[tuple[int, tuple[int, ...]], ...]],
        says(
            "what else it keeps: groups that are shut out; pairs of a group and a job of which one instance may be "
            "there; what there is of further resources; pairs of a group and what each instance takes of them"
        ),
    ]


class Problem(Form):
    """What is to be packed: node classes and movable instances."""

    classes: Annotated[tuple[NodeClass, ...], says("the node classes, sorted")]
    nodes: Annotated[tuple[int, ...], says("how many nodes each class has")]
    demands: Annotated[
        tuple[tuple[int, int], ...],
        says("pairs: kind (GPUs, and 10^12 times the number of its group), movable instances of it; descending"),
    ]


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


class PartialCount(Form, tag_field="count", tag="partial"):
    """Counts the partial nodes."""


class FreeCount(Form, tag_field="count", tag="free"):
    """Counts the nodes with just so many GPUs free."""

    gpus: Annotated[int, says("GPUs")]


class ArrivalCount(Form, tag_field="count", tag="arrivals"):
    """Counts the instances of one demand that arrive on a node."""

    demand: Annotated[int, says("GPUs")]


class LeavingCount(Form, tag_field="count", tag="leaving"):
    """Counts the instances of one demand that leave nodes that hold certain demands now."""

    demand: Annotated[int, says("GPUs")]
    before: Annotated[Pattern, says("demands in GPUs")]


class LoadBound(Form, tag_field="argument", tag="load bound"):
    """The sums of GPUs that full nodes can reach leave no other choice."""


class Weights(Form, tag_field="argument", tag="weights"):
    """What a partial node, an instance that arrives and an instance of each demand weigh."""

    partial: Annotated[int, says("weight of a partial node")]
    arrival: Annotated[int, says("weight of an instance that arrives on a node; 0 if it is about partial nodes alone")]
    demands: Annotated[tuple[int, ...], says("weight of an instance, demands descending")]
    branches: Annotated[tuple[int, ...], says("weight of each case on the way to this leaf")]


class Branches(Form, tag_field="argument", tag="branches"):
    """Two cases, each with its own argument."""

    counted: Annotated[FullCount | PartialCount | FreeCount | ArrivalCount | LeavingCount, says("what is counted")]
    at_most: Annotated[int, says("the first case is: at most so many")]
    below: Annotated["Weights | Branches", says("argument of the first case")]
    above: Annotated["Weights | Branches", says("argument of the second")]


class Removal(Form):
    """Full nodes set aside by a rule of the closed form."""

    pattern: Annotated[Pattern, says("demands in GPUs")]
    times: Annotated[int, says("nodes set aside")]


class Remainder(Form, tag_field="argument", tag="remainder"):
    """The GPUs in use are no multiple of 8, so one node is partial."""


class Reductions(Form, tag_field="argument", tag="reductions"):
    """Full nodes set aside, and an argument for the rest."""

    removals: Annotated[tuple[Removal, ...], says("in the order in which they are made")]
    rest: Annotated[Remainder | Weights, says("argument for what is left")]


class SolverProof(Form, tag_field="argument", tag="solver proof"):
    """The word of a solver: the one argument that is not checked again."""

    solver: Annotated[str, says("name and version")]
    claim: Annotated[int, says("the bound it claims")]


class Certificate(Form):
    """A packing, a lower bound on its partial nodes, and the argument for that bound."""

    schema: Literal["compass-abs/certificate/2"]
    problem: Annotated[Problem, says("what is packed")]
    packing: Annotated[tuple[PackedNodes, ...], says("what every node holds; every node is named once")]
    partial_nodes: Annotated[int, says("partial nodes of the packing: attained")]
    lower_bound: Annotated[int, says("partial nodes of every packing, at least: proved")]
    argument: Annotated[LoadBound | Weights | Branches | Reductions | SolverProof, says("why there cannot be fewer")]
    status: Annotated[Solution, says("`optimal` if the bounds meet")]


class MigrationCertificate(Form):
    """Changes of nodes, a lower bound on the migrations they take, and the argument for it."""

    schema: Literal["compass-abs/migration-certificate/2"]
    problem: Annotated[Problem, says("node classes and movable instances")]
    present: Annotated[tuple[PackedNodes, ...], says("what every node holds now")]
    max_partial_nodes: Annotated[int, says("partial nodes that may be left")]
    changes: Annotated[tuple[ChangedNodes, ...], says("which nodes change, and how")]
    partial_nodes: Annotated[int, says("partial nodes afterwards")]
    migrations: Annotated[int, says("instances whose node changes: attained")]
    lower_bound: Annotated[int, says("migrations of every plan within the limit, at least: proved")]
    argument: Annotated[Weights | Branches | SolverProof, says("why there cannot be fewer")]
    status: Annotated[Solution, says("`optimal` if the bounds meet")]
