"""Small trace files, made here so that the tests need none: one good row of each format, and how to change it."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

Row = dict[str, str]

# One sound row of each CSV format, in the words of its publishers' documentation.
GOOD: Mapping[str, Row] = {
    "native": {
        "job_id": "a",
        "submit_s": "10",
        "duration_s": "20.5",
        "instances": "3",
        "gpus_per_instance": "2",
        "pool": "h100",
    },
    "helios": {
        "job_id": "1425512",
        "user": "uVMrF",
        "vc": "vchbv",
        "gpu_num": "4",
        "cpu_num": "16",
        "node_num": "1",
        "state": "FAILED",
        "submit_time": "2020-06-09 18:41:27",
        "start_time": "2020-06-09 18:42:00",
        "end_time": "2020-06-09 18:46:09",
        "duration": "249",
        "queue": "33",
    },
    "helios-repackaged": {
        "job_id": "363167#0",
        "arrival_s": "0.0",
        "service_sec": "172800.0",
        "gpu_count": "32",
    },
    "philly-repackaged": {
        "timestamp": "2017-10-09 07:01:55",
        "duration": "66.0",
        "num_gpus": "1",
        "gpu_time": "66.0",
        "cluster": "11cb48",
    },
    "openb": {
        "name": "openb-pod-0017",
        "cpu_milli": "88000",
        "memory_mib": "327680",
        "num_gpu": "8",
        "gpu_milli": "1000",
        "gpu_spec": "",
        "qos": "Burstable",
        "pod_phase": "Succeeded",
        "creation_time": "9437497",
        "deletion_time": "10769854",
        "scheduled_time": "9437500",
    },
    "alibaba-spot": {
        "job_name": "437261",
        "organization": "57",
        "gpu_model": "A100-SXM4-80GB",
        "cpu_request": "15",
        "gpu_request": "1",
        "worker_num": "94",
        "submit_time": "9589663",
        "duration": "71718",
        "job_type": "Spot",
    },
    "alibaba-spot-sample": {
        "job_name": "347976",
        "organization": "57",
        "job_type": "HP",
        "submit_s": "15768200.0",
        "duration_s": "73.0",
        "w": "15",
        "g": "8.0",
        "source_table": "outliers_short_heavy",
    },
    "alibaba-pai": {
        "job_name": "4f057009a5d481acec67b088",
        "task_name": "worker",
        "inst_num": "2.0",
        "status": "Terminated",
        "start_time": "1739162.0",
        "end_time": "1739200.0",
        "plan_cpu": "600.0",
        "plan_mem": "29.296875",
        "plan_gpu": "400.0",
        "gpu_type": "V100",
    },
    "acme": {
        "job_id": "dlctk696s0jbvitv",
        "user": "uf794",
        "node_num": "8",
        "gpu_num": "64",
        "cpu_num": "960",
        "type": "Other",
        "state": "COMPLETED",
        "submit_time": "2023-05-17 11:00:58+08:00",
        "start_time": "2023-05-17 11:01:08+08:00",
        "end_time": "2023-05-17 11:01:16+08:00",
        "duration": "8",
        "queue": "10.0",
        "gpu_time": "512.0",
    },
}

PAI_JOB: Row = {
    "job_name": "4f057009a5d481acec67b088",
    "inst_id": "8cb3bec23d14dbde",
    "user": "58540f191766",
    "status": "Terminated",
    "start_time": "1739000.0",
    "end_time": "1739200.0",
}


def row(format_: str, **changes: str) -> Row:
    """Return the good row of a format with some fields changed."""
    assert not set(changes) - set(GOOD[format_])
    return GOOD[format_] | changes


def csv_text(rows: Sequence[Row], *, header: bool = True, end: str = "\n") -> str:
    """Return rows of the same columns as CSV."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), lineterminator=end)
    if header:
        writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def write(path: Path, rows: Sequence[Row], *, header: bool = True) -> Path:
    """Write rows as CSV and return the path."""
    path.write_text(csv_text(rows, header=header), encoding="utf-8", newline="")
    return path


def attempt(start: str | None, end: str | None, *gpus: int) -> dict[str, object]:
    """Return an attempt of Philly's log with so many GPUs on each server."""
    detail = [{"ip": f"m{i}", "gpus": [f"gpu{k}" for k in range(count)]} for i, count in enumerate(gpus)]
    return {"start_time": start, "end_time": end, "detail": detail}


def philly_job(name: str, *attempts: dict[str, object], **changes: object) -> dict[str, object]:
    """Return a job of Philly's log."""
    job = {"status": "Pass", "vc": "ee9e8c", "jobid": name, "submitted_time": "2017-10-07 01:00:00", "user": "u"}
    return job | {"attempts": list(attempts)} | changes


def write_json(path: Path, jobs: object) -> Path:
    """Write Philly's log and return the path."""
    path.write_text(json.dumps(jobs), encoding="utf-8")
    return path
