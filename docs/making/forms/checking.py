"""The forms of `sifopt verify -o json` and `compass-prove -o json`."""

from typing import Annotated, Literal

from docs.making.forms.base import Form, says


class Check(Form):
    """One claim of a stored result."""

    claim: Annotated[str, says("what is claimed, in words")]
    result: Annotated[Literal["holds", "fails", "not rechecked"], says("the outcome")]
    detail: Annotated[str, says("why it fails, or why it could not be checked; otherwise empty")]


class Verification(Form):
    """Printed by `sifopt verify -o json`."""

    schema: Literal["compass-abs/verify/1"]
    holds: Annotated[bool, says("whether no check fails and all were finished")]
    finished: Annotated[bool, says("whether every check came to its end within the time limit")]
    complete: Annotated[bool, says("whether every check holds: nothing fails, nothing is left unchecked")]
    checks: Annotated[tuple[Check, ...], says("the checks")]


class Claim(Form):
    """One claim of the register."""

    id: Annotated[str, says("name, such as C3 or P1")]
    statement: Annotated[str, says("what is claimed")]
    status: Annotated[str, says("proved, checked, tested, refuted or unknown")]
    bound: Annotated[str | None, says("up to what it is checked or tested; null otherwise")]
    method: Annotated[str, says("how it was settled")]
    seconds: Annotated[float, says("time that took, seconds")]
    counterexample: Annotated[dict[str, str | int] | None, says("the shortest counterexample; null without one")]
    source: Annotated[str, says("where the claim stands")]
    details: Annotated[tuple[str, ...], says("figures of the settling")]
    fell: Annotated[str | None, says("what got worse than recorded; null if nothing did")]


class Register(Form):
    """Printed by `compass-prove -o json`."""

    schema: Literal["compass-abs/register/1"]
    claims: Annotated[tuple[Claim, ...], says("the claims that were settled")]
    not_settled: Annotated[tuple[str, ...], says("ids of the claims that were not, where it was interrupted")]
