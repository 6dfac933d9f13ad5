"""The forms of all JSON documents that the commands print, each key with its type and its meaning.

They are written down apart from the code that prints, so that a test can hold the one against the other.
"""

from docs.making.forms.admitting import Admission, QueueAdmission
from docs.making.forms.base import Form
from docs.making.forms.certificates import Certificate, MigrationCertificate
from docs.making.forms.checking import Register, Verification
from docs.making.forms.measuring import Measurement
from docs.making.forms.moving import Plan, Resumption
from docs.making.forms.replaying import Replay, Sweep

__all__ = ["DOCUMENTS", "Form"]

DOCUMENTS: dict[str, type[Form]] = {
    "measure": Measurement,
    "plan": Plan,
    "resume": Resumption,
    "admit": Admission,
    "admit-queue": QueueAdmission,
    "verify": Verification,
    "certificate": Certificate,
    "migration-certificate": MigrationCertificate,
    "register": Register,
    "replay": Replay,
    "sweep": Sweep,
}
"""By the name that stands in `schema`."""
