"""The certificates of a stored answer: read, checked one by one, and held against the cluster they should be about."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from oracle.optimum.certificate import Certificate
from oracle.optimum.evidence import CertificateError
from oracle.optimum.interruption import BrokenOffError
from oracle.optimum.migration_certificate import MigrationCertificate
from oracle.optimum.weights import SolverProof
from oracle.verification.checks import BY_SOLVER, Check, ResultError
from oracle.verification.enumeration import fewest_partial

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

C = TypeVar("C", Certificate, MigrationCertificate)

ABOUT = "the certificates are about this cluster"


def read_certificate(kind: type[C], data: object) -> C:
    """Return a stored certificate of this kind.

    Raises
    ------
    ResultError
        It has another form.
    """
    try:
        return kind.from_json(data)
    except CertificateError as error:
        raise ResultError(str(error)) from error


def check_about(told: Mapping[str, object], cluster: Mapping[str, object]) -> Check:
    """Return whether what certificates say of each pool that there is, is what the cluster has."""
    if sorted(told) != sorted(cluster):
        return Check.of(ABOUT, "the pools are not those of the snapshot")
    others = (f"pool {pool} has other nodes or instances" for pool in cluster if told[pool] != cluster[pool])
    return Check.of(ABOUT, next(others, ""))


def check_certificate(claim: str, certificate: Certificate | MigrationCertificate) -> Check:
    """Return whether a certificate proves what it says."""
    try:
        certificate.verify()
    except CertificateError as error:
        return Check.of(claim, str(error))
    except BrokenOffError as error:
        return Check.broken_off(claim, error)
    return Check.of(claim, unknown="" if certificate.recheckable else BY_SOLVER)


def check_inherent(claim: str, certificate: Certificate) -> Iterator[Check]:
    """Yield whether a certificate of partial nodes proves what it says; a solver's word is tried in small pools."""
    yield _tried(check_certificate(claim, certificate), certificate)
    if isinstance(certificate.argument, SolverProof):
        yield Check.of(f"{claim}: {certificate.argument.solver} said so", unknown=BY_SOLVER)


def _tried(check: Check, certificate: Certificate) -> Check:
    """Return the check with what trying all packings shows, if it was left open by a solver's word."""
    if check.holds is not None or not check.finished:
        return check
    try:
        fewest = fewest_partial(certificate.problem)
    except BrokenOffError as error:
        return Check.broken_off(check.claim, error)
    if fewest is None:
        return check
    return Check.of(check.claim, "" if certificate.lower_bound <= fewest else f"a packing has {fewest}")
