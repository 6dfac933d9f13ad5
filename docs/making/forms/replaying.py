"""The forms of `compass-sim run -o json`, `compare -o json` and `sweep -o json`."""

from typing import Annotated, Literal

from docs.making.forms.base import Form, says


class Replay(Form):
    """Printed by `compass-sim run -o json`; `compare -o json` prints a list of these, one a scheduler."""

    schema: Literal["compass-abs/replay/1"]
    scheduler: Annotated[str, says("name of the scheduler")]
    nodes: Annotated[int, says("nodes, N, of 8 GPUs")]
    jobs: Annotated[int, says("jobs that were queued")]
    completed_jobs: Annotated[int, says("jobs that ran to their end")]
    refused_jobs: Annotated[int, says("jobs that not even the idle cluster has room for")]
    unstarted_jobs: Annotated[int, says("jobs that never started although nothing else was to come")]
    events: Annotated[int, says("arrivals and departures carried out")]
    span_s: Annotated[float, says("first submission to last completion, or last submission if jobs never start, s")]
    submission_span_s: Annotated[float, says("first to last submission, seconds")]
    afr: Annotated[float, says("time average of SIF, from 0 to 1")]
    partial_share: Annotated[float, says("time average of Φ/N")]
    inherent_share: Annotated[float, says("time average of Φ*/N")]
    agu: Annotated[float, says("time average of the share of GPUs that jobs hold")]
    agu_submission: Annotated[float, says("the same until the last submission")]
    ajct_s: Annotated[float, says("mean of completion less submission, seconds")]
    jct_p50_s: Annotated[float, says("its median, seconds")]
    jct_p95_s: Annotated[float, says("its 95th percentile, seconds")]
    jct_p99_s: Annotated[float, says("its 99th percentile, seconds")]
    delay_mean_s: Annotated[float, says("mean of start less submission, seconds")]
    delay_p50_s: Annotated[float, says("its median, seconds")]
    delay_p95_s: Annotated[float, says("its 95th percentile, seconds")]
    delay_p99_s: Annotated[float, says("its 99th percentile, seconds")]
    max_avoidable_partial_nodes: Annotated[int, says("most avoidable partial nodes after any event")]
    mean_empty_nodes: Annotated[float, says("time average of empty nodes")]
    wcc_coverage: Annotated[float, says("share of time in which the composition condition holds, ρ")]
    fragmentation_blocked_s: Annotated[float, says("time the head of the queue waits though enough GPUs are free, s")]
    capacity_blocked_s: Annotated[float, says("time it waits because too few are, seconds")]
    structure_blocked_s: Annotated[float, says("part of the first: it fits, but its slots do not, seconds")]
    held_s: Annotated[float, says("part of the first: the scheduler waits for a better place, seconds")]
    undefined_blocked_s: Annotated[float, says("part of the first: the algorithm is undefined, seconds")]
    fragmentation_blocked_jobs: Annotated[int, says("jobs that waited at the head as free GPUs lay badly")]
    capacity_blocked_jobs: Annotated[int, says("jobs that waited at the head for GPUs")]
    structure_blocked_jobs: Annotated[int, says("jobs that waited at the head for slots")]
    held_jobs: Annotated[int, says("jobs that were held for a better place")]
    undefined_arrivals: Annotated[int, says("jobs whose arrival was undefined at least once")]
    feasible_blocked_jobs: Annotated[int, says("jobs that waited at the head for any of these causes but GPUs")]
    undefined_departures: Annotated[int, says("jobs whose departure was undefined when they ended")]
    stuck_gpu_s: Annotated[float, says("GPU-seconds held after the end for that reason")]
    migrations: Annotated[int, says("instances that changed their node, but for jobs that depart at that instant")]
    pauses: Annotated[int, says("times a running job was paused")]
    paused_s: Annotated[float, says("seconds of these")]
    paused_gpu_s: Annotated[float, says("GPU-seconds held meanwhile")]
    rounds: Annotated[int, says("rounds of a scheduler that works by the clock")]
    wall_s: Annotated[float, says("time the replay took, seconds")]
    trace: Annotated[str, says("where the jobs came from")]
    instances_rule: Annotated[str, says("how demands above one node were split")]
    peak_demand_gpus: Annotated[int, says("most GPUs in demand at once, with unlimited capacity")]
    eta: Annotated[float | None, says("tightness η asked for; null if nodes were given")]
    queue: Annotated[str, says("order of the queue")]
    migration_cost_s: Annotated[float, says("pause of a job that is moved, seconds")]
    cost_per_instance: Annotated[bool, says("whether the pause counts once for each instance moved")]
    seed: Annotated[int, says("seed of what is random")]
    drr_policy: Annotated[str | None, says("file of the weights with which drr places; null: its teacher, best fit")]


class SweepRow(Form):
    """One scheduler, η and migration cost, over all windows."""

    scheduler: Annotated[str, says("name of the scheduler")]
    eta: Annotated[float, says("tightness η")]
    cost_s: Annotated[float, says("pause of a job that is moved, seconds")]
    cells: Annotated[int, says("windows replayed")]
    ajct_s: Annotated[float, says("mean over windows, seconds")]
    afr: Annotated[float, says("mean over windows, from 0 to 1")]
    agu: Annotated[float, says("mean over windows, from 0 to 1")]
    max_avoidable_partial_nodes: Annotated[int, says("most in any window")]
    fragmentation_blocked_s: Annotated[float, says("sum, seconds")]
    capacity_blocked_s: Annotated[float, says("sum, seconds")]
    migrations: Annotated[int, says("sum")]
    wcc_coverage: Annotated[float, says("mean over windows, ρ")]
    best_afr: Annotated[int, says("windows in which no other scheduler had a lower AFR")]
    best_ajct: Annotated[int, says("the same of AJCT")]
    best_agu: Annotated[int, says("the same of AGU, higher")]
    refused_jobs: Annotated[int, says("sum of jobs that not even the idle cluster of their window has room for")]
    unstarted_jobs: Annotated[int, says("sum of jobs that never started")]
    undefined: Annotated[int, says("sum of undefined arrivals and departures")]


class Sweep(Form):
    """Printed by `compass-sim sweep -o json`."""

    schema: Literal["compass-abs/sweep/1"]
    trace: Annotated[str, says("where the jobs came from")]
    instances_rule: Annotated[str, says("how demands above one node were split")]
    windows: Annotated[tuple[tuple[int, int], ...], says("first and last day of each window")]
    queue: Annotated[str, says("order of the queue")]
    seed: Annotated[int, says("seed of what is random")]
    schedulers: Annotated[tuple[SweepRow, ...], says("one row a scheduler, η and cost")]
