"""Small made-up traces, written without the generator under test."""

from __future__ import annotations

import random

from simulation.jobs import TraceJob

DAY_S = 86_400


def made_up(number: int, seed: int, *, days: int = 1) -> tuple[TraceJob, ...]:
    """Return so many jobs spread over some days, most of them small, in order of submission."""
    rng = random.Random(seed)
    times = sorted(rng.uniform(0, days * DAY_S) for _ in range(number))
    return tuple(
        TraceJob(
            f"j{i:05}",
            round(time, 3),
            round(rng.expovariate(1 / 20_000), 3) + 1,
            rng.choice([1, 1, 1, 2, 3]),
            rng.choice([1, 1, 1, 2, 3, 4, 5, 8]),
        )
        for i, time in enumerate(times)
    )


def as_csv(jobs: tuple[TraceJob, ...]) -> str:
    """Return the jobs in the project's own format."""
    rows = (f"{j.name},{j.submit_s!r},{j.duration_s!r},{j.instances},{j.gpus}," for j in jobs)
    return "job_id,submit_s,duration_s,instances,gpus_per_instance,pool\n" + "\n".join(rows) + "\n"
