"""What the forms of all documents share."""

import msgspec


class Form(msgspec.Struct, forbid_unknown_fields=True):
    """An object of a JSON document: every key it may have, none besides."""


def says(text: str) -> msgspec.Meta:
    """Return the meaning of a key, with its unit."""
    return msgspec.Meta(description=text)
