"""Values of options: read from text, or refused with what was expected."""

from __future__ import annotations

import argparse
import math
import re

# More digits are no count of anything; they are cut before they take time to convert.
_MAX_DIGITS = 18


def seconds(text: str) -> float:
    """Return a number of seconds."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (value >= 0 and math.isfinite(value)):
        raise argparse.ArgumentTypeError(f"expected a number of seconds, 0 or more, got {text!r}")
    return value


def whole_number(text: str) -> int:
    """Return a number of things, 0 or more."""
    return _number(text, least=0)


def positive_number(text: str) -> int:
    """Return a number of things, 1 or more."""
    return _number(text, least=1)


def integer(text: str) -> int:
    """Return a whole number, negative ones too, such as a priority."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r}")
    return -_cut(digits) if text.startswith("-") else _cut(digits)


def size(text: str) -> int:
    """Return a number of bytes, from a text such as 500M; the units are powers of 1024."""
    match = re.fullmatch(r"([0-9]{1,15})([KMGT]?)(?:i?B)?", text, re.ASCII | re.IGNORECASE)
    if match is None or not int(match[1]):
        raise argparse.ArgumentTypeError(f"expected a number of bytes, 1 or more, such as 500M or 4G, got {text!r}")
    return int(match[1]) << 10 * "KMGT".find(match[2].upper()) + 10 if match[2] else int(match[1])


def demand(text: str) -> tuple[int, int]:
    """Return the instances of a job and the GPUs of each, from a text such as 2x4."""
    match = re.fullmatch(r"([1-9][0-9]{0,8})[xX]([1-9][0-9]{0,8})", text, re.ASCII)
    if match is None:
        raise argparse.ArgumentTypeError(
            f"expected instances x GPUs of each, both at least 1, such as 2x4, got {text!r}"
        )
    return int(match[1]), int(match[2])


def weight(text: str) -> tuple[str, int]:
    """Return a job and its weight, from a text such as team/train=5. Names may have a = in them, weights have not."""
    job, equals, number = text.rpartition("=")
    if not (job and equals and number.isascii() and number.isdigit()):
        raise argparse.ArgumentTypeError(f"expected a job and a whole number, such as team/train=5, got {text!r}")
    return job, _cut(number)


class Once(argparse.Action):
    """Store a value, and refuse a second one: of two questions only one would be answered."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, *_: object
    ) -> None:
        """Store it."""
        if getattr(namespace, self.dest, None) is not None:
            parser.error(f"argument {self.option_strings[0]}: expected once, and it is there twice")
        setattr(namespace, self.dest, values)


def _number(text: str, *, least: int) -> int:
    if not (text.isascii() and text.isdigit() and _cut(text) >= least):
        raise argparse.ArgumentTypeError(f"expected a whole number, {least} or more, got {text!r}")
    return _cut(text)


def _cut(digits: str) -> int:
    return int(digits.lstrip("0")[:_MAX_DIGITS] or "0")
