"""What the forms of all documents share."""

from typing import Annotated

import msgspec


class Form(msgspec.Struct, forbid_unknown_fields=True):
    """An object of a JSON document: every key it may have, none besides."""


def says(text: str) -> msgspec.Meta:
    """Return the meaning of a key, with its unit."""
    return msgspec.Meta(description=text)


class Overlooked(Form):
    """Constraints of one sort that the input has and the answer does not take into account."""

    reason: Annotated[str, says("which constraints")]
    jobs: Annotated[tuple[str, ...], says("names of the jobs that have them")]
