"""How `sifopt verify` rechecks every key of a stored result.

A key of these forms that has no entry fails the tests, and so does an entry of a key that is no more: whoever adds a
key says here how somebody else can tell that it is right.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from docs.making.forms import admitting, base, certificates, measuring, moving

if TYPE_CHECKING:
    from docs.making.forms.base import Form


class How(StrEnum):
    """How a key is rechecked."""

    ASKED = "asked"
    """It is the question: every claim is checked as an answer to it."""
    DERIVED = "derived"
    """It is written again from the snapshot, the moves and the certificates, and compared: any other value fails."""
    PROVED = "proved"
    """It is a bound, or what attains one: an argument is recomputed, moves are played, packings counted. Another value
    passes only if that shows it as well; what rests on a search or a solver is named."""
    NAMED = "named"
    """It is derived where it can be, and otherwise named as not rechecked."""


_A, _D, _P, _N = How.ASKED, How.DERIVED, How.PROVED, How.NAMED

RECHECKED: Final[dict[type[Form], dict[How, str]]] = {
    base.Overlooked: {_D: "reason jobs"},
    measuring.Figures: {
        _D: "nodes gpus used_gpus free_gpus instances partial_nodes inherent_partial_nodes inherent_lower_bound "
        "ideal_partial_nodes ideal_lower_bound avoidable_partial_nodes sif empty_nodes empty_nodes_after full_nodes "
        "unschedulable_nodes largest_free_block overcommitted wcc wcc_supply wcc_need",
        _P: "empty_nodes_after_status status",
    },
    measuring.ConstraintCost: {_D: "constraint partial_nodes partial_nodes_at_most", _P: "certificate"},
    measuring.Pool: {_D: "pool constraints", _P: "certificate ideal_certificate"},
    measuring.Measurement: {_A: "pool", _D: "schema not_looked_at pools domains"},
    measuring.DomainFigures: {
        _D: "domains panels used_panels instances partial_domains avoidable_partial_domains sif empty_domains "
        "largest_free_block wcc",
        _P: "inherent_partial_domains inherent_lower_bound status",
    },
    measuring.JointOptimum: {_P: "partial_panels partial_domains open_panels"},
    measuring.DomainPool: {_D: "pool", _P: "joint"},
    measuring.Domains: {_D: "nodes_without_domain pools"},
    moving.Move: {_D: "gpus from name", _P: "step job instance to"},
    moving.Stop: {_D: "gpus from name", _P: "job instance before_step"},
    moving.InstanceAtStart: {_D: "node gpus name index"},
    moving.JobAtStart: {_D: "job instances"},
    moving.FrontierPoint: {_D: "partial_nodes migrations", _P: "lower_bound"},
    moving.PoolEvidence: {_D: "pool", _P: "inherent migrations further"},
    moving.PoolFrontier: {_D: "pool", _P: "plans arguments"},
    moving.FrontierEvidence: {_P: "pools"},
    moving.PlanEvidence: {_P: "pools frontier"},
    moving.Plan: {
        _A: "mode max_partial_nodes max_migrations max_jobs_disturbed max_per_job_at_once max_per_budget "
        "max_priority protected weights pool",
        _D: "schema partial_nodes_before partial_nodes_after empty_nodes_before empty_nodes_after migrations "
        "jobs_disturbed disturbance gpus_copied live jobs_at_start not_looked_at frontier_mode",
        _P: "status partial_nodes_lower_bound migrations_lower_bound jobs_disturbed_lower_bound "
        "disturbance_lower_bound moves stopped_first certificate frontier",
        _N: "interrupted",
    },
    admitting.Placement: {_D: "instance", _P: "node"},
    admitting.JobPlacement: {_P: "job"},
    admitting.Blocker: {_D: "kind gpus pool alone text node job instance sets resource amount wanted"},
    admitting.RoomEvidence: {_P: "pool argument no_more"},
    admitting.AdmissionEvidence: {_P: "pools"},
    admitting.Verdicts: {
        _D: "pool migrations starting status",
        _P: "verdict lower_bound most moves stopped_first placements blockers certificate",
        _N: "reason proof",
    },
    admitting.AskedPart: {_A: "instances gpus_per_instance within resources"},
    admitting.AskedJob: {_A: "pool distinct_nodes further_parts together more_of within_one_of"},
    admitting.QueuedJob: {_D: "name"},
    admitting.Admission: {
        _A: "job mode protected max_per_job_at_once max_per_budget max_priority",
        _D: "schema jobs_at_start not_looked_at",
        _N: "interrupted",
    },
    admitting.NamedVerdict: {_D: "name"},
    admitting.Together: {
        _D: "migrations starting status",
        _P: "jobs moves stopped_first placements most moves_lower_bound",
    },
    admitting.QueueAdmission: {
        _A: "pool mode protected max_per_job_at_once max_per_budget max_priority",
        _D: "schema jobs not_looked_at",
        _P: "passed_over first together",
        _N: "interrupted",
    },
    certificates.NodeClass: {_D: "capacity held room own rules"},
    certificates.Problem: {_D: "classes nodes demands"},
    certificates.PackedNodes: {_P: "node_class pattern nodes"},
    certificates.ChangedNodes: {_P: "node_class before after nodes"},
    certificates.FullCount: {},
    certificates.FreeCount: {_P: "gpus"},
    certificates.LeavingCount: {_P: "demand before"},
    certificates.PartialCount: {},
    certificates.ArrivalCount: {_P: "demand"},
    certificates.LoadBound: {},
    certificates.Weights: {_P: "partial arrival demands branches"},
    certificates.Branches: {_P: "counted at_most below above"},
    certificates.Removal: {_P: "pattern times"},
    certificates.Remainder: {},
    certificates.Reductions: {_P: "removals rest"},
    certificates.SolverProof: {_D: "claim", _N: "solver"},
    certificates.Certificate: {
        _D: "schema problem partial_nodes lower_bound status",
        _P: "packing argument",
    },
    certificates.MigrationCertificate: {
        _D: "schema problem present partial_nodes migrations lower_bound status",
        _P: "max_partial_nodes changes argument",
    },
}
"""By form, and how, the keys that the form adds to those of the form it extends."""


def how_rechecked(form: type) -> dict[str, How]:
    """Return how each key of a form is rechecked, those of the forms it extends included; none if it is not."""
    return {
        key: how
        for base in reversed(form.__mro__)
        for how, keys in RECHECKED.get(base, {}).items()
        for key in keys.split()
    }
