"""Check a scheduler of your own against what it promises, and see the shortest list of events that breaks a promise.

This one repacks the whole cluster at every event, largest first. See docs/conformance.md.

    $ python examples/your_own_scheduler.py
    never an avoidable partial node: BROKEN on 2 nodes by 4x2, 1x3
      at event 2: N·SIF = 1, promised at most 0: Φ = 2, Φ* = 1, nodes {3,2,2} {2,2}
    none under WCC, and admits all that fits: kept (2,588 lists of events tried)
"""

from compass_core import Job
from proofs.conformance import Promise, check_scheduler


class Repacking:
    """Repacks all at every event. `compass-sim run --schedulers your_own_scheduler:Repacking` replays it."""

    def reset(self, nodes: int) -> None:
        """Begin anew with so many idle nodes of 8 GPUs."""
        self.nodes = nodes
        self.homes: dict[str, list[int]] = {}
        self.jobs: dict[str, Job] = {}

    def arrive(self, job: Job) -> bool:
        """Admit the job whole and return True, or not at all and return False."""
        return self.repack({**self.jobs, job.name: job})

    def depart(self, name: str) -> None:
        """End a job."""
        self.repack({other: job for other, job in self.jobs.items() if other != name})

    def placement(self) -> dict[str, list[int]]:
        """Return the node of each instance of each running job."""
        return self.homes

    def repack(self, jobs: dict[str, Job]) -> bool:
        """Place all jobs anew, or leave everything as it is and return False."""
        free, homes = [8] * self.nodes, {name: list[int]() for name in jobs}
        for job in sorted(jobs.values(), key=lambda job: -job.gpus):
            for _ in range(job.instances):
                rooms = [node for node, room in enumerate(free) if room >= job.gpus]
                if not rooms:
                    return False
                free[rooms[0]] -= job.gpus
                homes[job.name].append(rooms[0])
        self.homes, self.jobs = homes, jobs
        return True


if __name__ == "__main__":
    for words, promise in (
        ("never an avoidable partial node", Promise(avoidable_nodes=0, without_wcc=True)),
        ("none under WCC, and admits all that fits", Promise(avoidable_nodes=0, admits_all_that_fits=True)),
    ):
        report = check_scheduler(Repacking(), promise)
        for found in report.failures:
            print(f"{words}: BROKEN on {found.nodes} nodes by {found.events}")
            print(f"  at event {found.broken.at + 1}: {found.broken.detail}")
        if report.passed:
            print(f"{words}: kept ({report.lists:,} lists of events tried)")
