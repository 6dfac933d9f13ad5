"""What a check is; how stored data become values; how they are compared with what is derived.

Everything here is about any stored answer. A claim ends in one of three ways, and `Check.of` is how nearly all do: it
is wrong, or it is unknown, or it holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar, cast

import msgspec

from compass_core.errors import CompassError
from oracle.optimum.evidence import read_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oracle.optimum.interruption import BrokenOffError

T = TypeVar("T")

NO_SNAPSHOT: Final = "needs the snapshot it was made from (--snapshot)"
BY_SOLVER: Final = "rests on the word of a solver"
BY_SEARCH: Final = "rests on a search"
LEFT_OUT: Final = "kinds of instances leave constraints out here; a plan shows what can be had"

_MAX_DIGITS = 100
_LARGEST = 10**_MAX_DIGITS


class ResultError(CompassError):
    """A file that holds no result that can be checked."""


@dataclass(frozen=True, slots=True)
class Check:
    """One claim.

    Attributes
    ----------
    claim
        What is claimed, in words.
    holds
        Whether it does; None if it could not be checked.
    detail
        Why it fails, or why it could not be checked.
    finished
        Whether the check came to its end; more time may settle one that did not.
    """

    claim: str
    holds: bool | None = True
    detail: str = ""
    finished: bool = True

    @classmethod
    def of(cls, claim: str, wrong: str = "", unknown: str = "") -> Check:
        """Return that a claim fails if something is wrong with it, else that it is left open if that is unknown."""
        return cls(claim, False if wrong else None if unknown else True, wrong or unknown)

    @classmethod
    def broken_off(cls, claim: str, error: BrokenOffError) -> Check:
        """Return that a claim was being checked, or was still to be, when there was no more time."""
        return cls(claim, None, f"not finished: {error}", finished=False)

    @property
    def result(self) -> str:
        """The outcome in words."""
        return {True: "holds", False: "fails", None: "not rechecked"}[self.holds]

    def to_json(self) -> dict[str, object]:
        """Return the check as data for JSON."""
        return {"claim": self.claim, "result": self.result, "detail": self.detail}


def convert(data: object, kind: type[T], *, whole: bool = True) -> T:
    """Return stored data as a value of this type, which has to know all the keys that are there if they are whole.

    Raises
    ------
    ResultError
        They have another form, or a key besides; the message names the place.
    """
    try:
        return read_whole(data, kind) if whole else msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ResultError(str(error)) from error
    except RecursionError as error:
        raise ResultError("it is nested too deep") from error


def check_numbers(data: object) -> None:
    """Check that no number has more digits than any figure, weight or denominator: work grows with their length.

    Raises
    ------
    ResultError
        One has.
    """
    pending = [data]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            pending.extend(cast("dict[object, object]", one).values())
        elif isinstance(one, list):
            pending.extend(cast("list[object]", one))
        elif isinstance(one, int) and abs(one) >= _LARGEST:
            raise ResultError(f"expected numbers of at most {_MAX_DIGITS} digits, got one of more")


def compared(claim: str, told: object, derived: object) -> Check:
    """Return whether what was told is what was derived, all of it, naming the first place where it is not.

    What was told may lack keys of its own, as older files do, but none deeper down; and it may have none besides.
    """
    return Check.of(claim, _difference(told, derived, ""))


def _difference(told: object, derived: object, path: str) -> str:
    if isinstance(told, dict) and isinstance(derived, dict):
        known = cast("dict[str, object]", derived)
        for name, value in cast("dict[str, object]", told).items():
            place = f"{path}.{name}".removeprefix(".")
            wrong = _difference(value, known[name], place) if name in known else f"there is no {place}"
            if wrong:
                return wrong
        missing = next((name for name in known if path and name not in told), None)
        return "" if missing is None else f"{path} lacks {missing}"
    if isinstance(told, list | tuple) and isinstance(derived, list | tuple):
        items, others = cast("Sequence[object]", told), cast("Sequence[object]", derived)
        if len(items) != len(others):
            return f"{path} has {len(others)} entries, not {len(items)}"
        found = (_difference(*pair, f"{path}[{i}]") for i, pair in enumerate(zip(items, others, strict=True)))
        return next((wrong for wrong in found if wrong), "")
    # Numbers and truth values are kept apart, as in JSON.
    same = told == derived and isinstance(told, bool) is isinstance(derived, bool)
    return "" if same else f"{path} is {derived}, not {told}"


def check_interrupted(*, interrupted: bool, settled: bool) -> Iterator[Check]:
    """Yield, unless it left nothing open, that nobody can tell whether a search was ended early."""
    if interrupted or not settled:
        claim = f"the search was {'' if interrupted else 'not '}ended early by somebody"
        yield Check(claim, None, "nothing shows it afterwards")
