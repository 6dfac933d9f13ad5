"""The page on JSON documents says of every key what it is: held against what the commands print, both ways."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, cast

import msgspec
import pytest
from msgspec import inspect

from docs.making import json_page
from docs.making.forms import DOCUMENTS, Form, certificates
from docs.making.made import DOCS
from oracle.cli.main import main as sifopt
from oracle.optimum import evidence, load_bound, migration_certificate, node_classes, reductions, weights
from oracle.optimum.certificate import Certificate
from oracle.optimum.migration_certificate import MigrationCertificate
from oracle.snapshots.native import read_native
from proofs.cli import main as compass_prove
from simulation.cli.main import main as compass_sim

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

EXAMPLE = str(DOCS.parent / "examples" / "snapshots" / "native.json")

# Three nodes that can only exchange instances, which have names: one has to stop first.
EXCHANGE: dict[str, list[dict[str, object]]] = {
    "nodes": [{"name": name, "gpus": 8} for name in ("n1", "n2", "n3")],
    "jobs": [
        {
            "name": name,
            "gpus_per_instance": gpus,
            "instances": [{"node": n, "name": f"{name}-{i}", "index": f"{i}"} for i, n in enumerate(nodes)],
        }
        for name, gpus, nodes in (("fives", 5, ("n1", "n2")), ("twos", 2, ("n1", "n2")), ("threes", 3, ("n3", "n3")))
    ],
}
# A closed node, and jobs that wait.
OBSTACLES: dict[str, list[dict[str, object]]] = {
    "nodes": [
        {"name": "n1", "gpus": 8},
        {"name": "n2", "gpus": 8, "schedulable": False},
        {"name": "n3", "gpus": 8},
    ],
    "jobs": [
        {"name": "fixed", "gpus_per_instance": 1, "instances": [{"node": "n1", "movable": False}]},
        {"name": "other", "gpus_per_instance": 8, "instances": [{"node": "n3", "movable": False}]},
    ],
    "pending": [{"name": "next", "gpus_per_instance": 8}, {"name": "small", "gpus_per_instance": 4}],
}

# Two domains of two nodes, on which everything can move.
DOMAINS: dict[str, list[dict[str, object]]] = {
    "nodes": [{"name": f"{domain}{n}", "gpus": 8, "domain": domain} for domain in ("d1", "d2") for n in (1, 2)],
    "jobs": [{"name": "wide", "gpus_per_instance": 4, "instances": [{"node": "d11"}, {"node": "d21"}]}],
}
# Two nodes that would both be free but for an instance that cannot move.
FIXED: dict[str, list[dict[str, object]]] = {
    "nodes": [{"name": name, "gpus": 8} for name in ("n1", "n2")],
    "jobs": [{"name": n, "gpus_per_instance": 1, "instances": [{"node": n, "movable": False}]} for n in ("n1", "n2")],
}
# The same, of which somebody knows that there is more to it.
OVERLOOKED: dict[str, list[dict[str, object]]] = {
    **FIXED, "not_looked_at": [{"reason": "topology spread", "items": ["n1"]}],
}  # fmt: skip
# Jobs that could start but for their partition, or for CPUs.
CONSTRAINED: dict[str, list[dict[str, object]]] = {
    "nodes": [
        {"name": "a", "gpus": 8, "resources": {"cpu": 1}},
        {"name": "b", "gpus": 8, "resources": {"cpu": 64}},
    ],
    "jobs": [{"name": "x", "gpus_per_instance": 1, "instances": [{"node": "a", "movable": False}]}],
    "pending": [
        {"name": "w0", "gpus_per_instance": 8, "within": ["p"]},
        {
            "name": "w1", "gpus_per_instance": 4, "within": ["p"], "resources": {"cpu": 4},
            "parts": [{"gpus_per_instance": 1}],
        },
    ],
    "node_sets": [{"name": "p", "kind": "partition", "nodes": ["a"]}],
}  # fmt: skip


def written(folder: Path, name: str, snapshot: dict[str, list[dict[str, object]]]) -> str:
    """Write a snapshot and return its path."""
    path = folder / name
    version = 2 if {"not_looked_at", "node_sets"} & set(snapshot) else 1
    path.write_text(json.dumps({"schema": f"compass-abs/snapshot/{version}", **snapshot}))
    return str(path)


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[object]]:
    """Return real documents by the name in their schema, as many as it takes to see every form."""
    folder = tmp_path_factory.mktemp("json")
    found: dict[str, list[object]] = defaultdict(list)

    def keep(main: Callable[[list[str]], int], *arguments: str, file: str = "out.json") -> str:
        with pytest.MonkeyPatch.context() as patch:
            text = _captured(patch, main, [*arguments])
        data: object = json.loads(text)
        documents = cast("list[object]", data) if isinstance(data, list) else [data]
        for document in documents:
            found[cast("dict[str, str]", document)["schema"].split("/")[1]].append(document)
        (folder / file).write_text(text)
        return str(folder / file)

    exchange = written(folder, "exchange.json", EXCHANGE)
    obstacles = written(folder, "obstacles.json", OBSTACLES)
    keep(sifopt, "measure", EXAMPLE, "-o", "json")
    keep(sifopt, "measure", written(folder, "domains.json", DOMAINS), "--hierarchical", "-o", "json")
    keep(sifopt, "measure", written(folder, "overlooked.json", OVERLOOKED), "-o", "json")
    keep(sifopt, "plan", EXAMPLE, "--frontier", "-o", "json")
    plan = keep(sifopt, "plan", exchange, "-o", "json", file="plan.json")
    keep(sifopt, "plan", "--resume", plan, "--snapshot", exchange, "-o", "json")
    _change_the_cluster(folder, found["plan"][-1])
    keep(sifopt, "plan", "--resume", plan, "--snapshot", str(folder / "now.json"), "-o", "json")
    keep(sifopt, "verify", plan, "--snapshot", exchange, "-o", "json")
    keep(sifopt, "admit", EXAMPLE, "--job", "4x8", "-o", "json")
    keep(sifopt, "admit", EXAMPLE, "--job", "1x8", "--pool", "h100", "-o", "json")
    keep(sifopt, "admit", written(folder, "fixed.json", FIXED), "--job", "1x8", "-o", "json")
    keep(sifopt, "admit", obstacles, "--job", "1x8", "-o", "json")
    keep(sifopt, "admit", EXAMPLE, "-o", "json")
    keep(sifopt, "admit", obstacles, "-o", "json")
    keep(sifopt, "admit", written(folder, "constrained.json", CONSTRAINED), "-o", "json")
    keep(sifopt, "admit", exchange, "--job", "1x8", "-o", "json")
    keep(compass_prove, "--claim", "P4", "-o", "json")
    trace = folder / "trace.csv"
    with pytest.MonkeyPatch.context() as patch:
        trace.write_text(_captured(patch, compass_sim, ["synthesize", "--jobs", "40", "--seed", "1"]))
    keep(compass_sim, "compare", str(trace), "--schedulers", "gfs,exact", "-o", "json")
    keep(compass_sim, "run", str(trace), "--nodes", "30", "-o", "json")
    grid = ["--days", "0-1", "--eta", ".9", "--schedulers", "gfs", "--processes", "1", "--out", str(folder / "sweep")]
    keep(compass_sim, "sweep", str(trace), *grid, "-o", "json")
    measured = cast("list[dict[str, list[dict[str, object]]]]", found["measure"])
    for pool in measured[0]["pools"]:
        found["certificate"].append(pool["certificate"])
    planned = cast("list[dict[str, dict[str, list[dict[str, object]]]]]", found["plan"])
    found["migration-certificate"] += [pool["migrations"] for pool in planned[0]["certificate"]["pools"]]
    return found


def _captured(patch: pytest.MonkeyPatch, main: Callable[[list[str]], int], arguments: list[str]) -> str:
    import io  # noqa: PLC0415 - a stand-in for standard output
    import sys  # noqa: PLC0415 - as above

    text = io.StringIO()
    patch.setattr(sys, "stdout", text)
    main(arguments)
    return text.getvalue()


def _change_the_cluster(folder: Path, plan: object) -> None:
    """Write a snapshot in which the destination of a move is taken and a job has ended."""
    moves = cast("dict[str, list[dict[str, str]]]", plan)["moves"]
    ended = moves[0]["job"]
    left = [job for job in EXCHANGE["jobs"] if job["name"] != ended]
    for name in ("n1", "n2", "n3"):
        new: dict[str, object] = {"name": f"new-{name}", "gpus_per_instance": 1, "instances": [{"node": name}]}
        left.append(new)
    written(folder, "now.json", {"nodes": EXCHANGE["nodes"], "jobs": left})


def values(value: object) -> Iterator[Form]:
    """Yield the forms in a converted document, itself included."""
    match value:
        case Form():
            yield value
            for name in value.__struct_fields__:
                yield from values(getattr(value, name))
        case tuple() | list():
            for item in cast("tuple[object, ...]", value):
                yield from values(item)
        case _:
            pass


def reachable(form: type) -> set[type[Form]]:
    """Return the forms that a document may contain, itself included."""
    found: set[type[Form]] = set()
    waiting = [form]
    while waiting:
        current = waiting.pop()
        if current in found:
            continue
        found.add(cast("type[Form]", current))
        info = inspect.type_info(current)
        assert isinstance(info, inspect.StructType)
        waiting += [struct.cls for field in info.fields for struct in json_page.structs(field.type)]
    return found


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_is_printed_is_what_is_documented(name: str, printed: dict[str, list[object]]) -> None:
    assert printed[name]
    for document in printed[name]:
        msgspec.convert(document, DOCUMENTS[name])  # raises at a key that is missing here or there


def test_what_is_documented_is_printed(printed: dict[str, list[object]]) -> None:
    seen: set[tuple[type, str]] = set()
    for name, form in DOCUMENTS.items():
        for document in printed[name]:
            for value in values(msgspec.convert(document, form)):
                there = [key for key in value.__struct_fields__ if getattr(value, key) is not msgspec.UNSET]
                seen |= {(type(value), key) for key in there}
    documented = {
        (form, key) for document in DOCUMENTS.values() for form in reachable(document) for key in form.__struct_fields__
    }
    # The parts of certificates are held against the classes they are written from, below: some are rare.
    assert {pair for pair in documented - seen if pair[0].__module__ != certificates.__name__} == set()


@pytest.mark.parametrize(
    ("form", "written_from"),
    [
        (certificates.NodeClass, node_classes.NodeClass),
        (certificates.Problem, node_classes.PackingProblem),
        (certificates.PackedNodes, node_classes.PackedNodes),
        (certificates.ChangedNodes, migration_certificate.ChangedNodes),
        (certificates.FullCount, weights.Full),
        (certificates.PartialCount, weights.Partial),
        (certificates.FreeCount, weights.Free),
        (certificates.ArrivalCount, weights.Arrivals),
        (certificates.LeavingCount, weights.Leaving),
        (certificates.LoadBound, load_bound.LoadBound),
        (certificates.Weights, weights.Weights),
        (certificates.Branches, weights.Branch),
        (certificates.SolverProof, weights.SolverProof),
        (certificates.Removal, reductions.Removal),
        (certificates.Remainder, reductions.Remainder),
        (certificates.Reductions, reductions.Reductions),
        (certificates.Certificate, Certificate),
        (certificates.MigrationCertificate, MigrationCertificate),
    ],
)
def test_parts_of_certificates(form: type[Form], written_from: type) -> None:
    if is_dataclass(written_from):
        names = [field.name for field in fields(written_from)]
        names = ["schema", *names] if issubclass(written_from, evidence.Evidence) else names
    else:
        struct = inspect.type_info(written_from)
        assert isinstance(struct, inspect.StructType)
        names = [field.encode_name for field in struct.fields]
        own = inspect.type_info(form)
        assert isinstance(own, inspect.StructType)
        assert (own.tag_field, own.tag) == (struct.tag_field, struct.tag)
    assert sorted(form.__struct_encode_fields__) == sorted(names)


def test_every_form_of_a_certificate_is_held_against_its_class() -> None:
    parts = {form for document in ("certificate", "migration-certificate") for form in reachable(DOCUMENTS[document])}
    marks = cast("list[pytest.Mark]", getattr(test_parts_of_certificates, "pytestmark"))  # noqa: B009 - of pytest
    assert {pair[0] for pair in marks[0].args[1]} == parts


def test_every_key_has_a_meaning() -> None:
    for form in {form for document in DOCUMENTS.values() for form in reachable(document)}:
        info = inspect.type_info(form)
        assert isinstance(info, inspect.StructType)
        assert all(json_page.meaning(field.type) for field in info.fields), form


def test_a_document_with_another_key_is_refused(printed: dict[str, list[object]]) -> None:
    document = cast("dict[str, object]", printed["verify"][0])
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**document, "more": 1}, DOCUMENTS["verify"])
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({key: value for key, value in document.items() if key != "holds"}, DOCUMENTS["verify"])


def test_the_snapshot_on_its_page_is_read() -> None:
    text = (DOCS / "snapshot-format.md").read_text(encoding="utf-8")
    example = text.partition("```json\n")[2].partition("```\n")[0]
    from oracle.snapshots.document import Document  # noqa: PLC0415 - only here

    snapshot = read_native(Document(name="page", content=example.encode()))
    assert len(snapshot.nodes) == 3
    assert [job.name for job in snapshot.jobs] == ["team-a/train", "team-b/serve"]
