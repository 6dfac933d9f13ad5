"""What is wrong with a snapshot, in one line, and the numbers that no snapshot goes beyond."""

from __future__ import annotations

from compass_core.errors import CompassError
from oracle.safe_text import printable

# A node of more GPUs than this is a misread number (a memory size, a core count), not a machine: the largest
# scale-up domain sold as one node has 72 GPUs, and time-sliced devices are counted in tens a GPU.
MAX_GPUS_PER_NODE = 1024

# Nodes of a cluster at most: no scheduler is built for a tenth of them. A snapshot has a line for each, but a range of
# names or a certificate states a number, and what it states must not fill the memory.
MAX_NODES = 1 << 20

# Quantities of Kubernetes and counts of Slurm are integers of 64 bits.
MAX_COUNT = (1 << 63) - 1

# GPUs that one instance asks for at most: what waits may want more than any node has, but not without end.
MAX_DEMAND = 10**12 - 1

# No message is longer than this, whatever stands in the input; ours are far shorter.
_LONGEST_PATH = 400
_LONGEST_PROBLEM = 1000


class SnapshotError(CompassError):
    """A snapshot that cannot be read: the message says where, what stood there and what was expected.

    The message is one line of bounded length; `path` and `problem` are kept as they are.
    """

    def __init__(self, path: str, problem: str) -> None:
        place, what = _on_a_line(path, _LONGEST_PATH), _on_a_line(problem, _LONGEST_PROBLEM)
        super().__init__(f"{place}: {what}" if path else what)
        self.path = path
        self.problem = problem


def shown(value: object, limit: int = 80) -> str:
    """Return text or a number of the input as messages quote it: the beginning of it, if it is long."""
    if isinstance(value, str):
        return repr(value if len(value) <= limit else value[:limit] + "...")
    text = repr(value)
    return text if len(text) <= limit else text[:limit] + "..."


def _on_a_line(text: str, limit: int) -> str:
    text = printable(text)
    # The end says what was expected, so that it is the middle that goes.
    end = limit // 3
    return text if len(text) <= limit else f"{text[: limit - end]} ... {text[-end:]}"
