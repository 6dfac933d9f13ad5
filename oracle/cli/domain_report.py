"""What `sifopt measure --hierarchical` adds for people: a table of the domains, and the best of both tiers at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.cli.tables import Column, Screen, draw
from oracle.cli.words import at_least, inherent
from oracle.safe_text import printable
from oracle.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from oracle.measurement.domains import DomainMeasurement
    from oracle.measurement.measure import Figures


def domain_report(domains: DomainMeasurement, screen: Screen) -> str:
    """Return the table of the domains and the sentences about them."""
    if not domains.measurement.nodes:
        return "\nNo node names a domain.\n"
    sentences = [*_together(domains), *_without(domains)]
    return "\n" + draw(_columns(domains), screen) + "\n" + "".join(f"{printable(line)}\n" for line in sentences)


def _columns(domains: DomainMeasurement) -> list[Column]:
    of_all = domains.measurement

    def column(heading: str, show: Callable[[Figures], str], *, attention: bool = False) -> Column:
        return Column(heading, [show(pool) for pool in of_all.pools], show(of_all), attention=attention)

    avoidable = of_all.avoidable_partial_nodes > 0
    conditions = [domains.wcc[pool.pool] for pool in of_all.pools]
    return [
        Column("pool", [pool.pool for pool in of_all.pools], "total"),
        column("domains", lambda of: f"{of.nodes}"),
        column("panels", lambda of: f"{of.gpus}"),
        column("in use", lambda of: f"{of.used_gpus}"),
        column("partial\nΦ", lambda of: f"{of.partial_nodes}"),
        column("inherent\nΦ*", inherent),
        column("avoidable\nΦ-Φ*", lambda of: f"{at_least(of)}{of.avoidable_partial_nodes}", attention=avoidable),
        column("SIF", lambda of: f"{at_least(of)}{of.sif:.3f}", attention=avoidable),
        Column("WCC", [_yes(value) for value in conditions], _yes(None if None in conditions else all(conditions))),
        column("empty\ndomains", lambda of: f"{of.empty_nodes}"),
        column("largest\nfree block", lambda of: f"{of.largest_free_block}"),
    ]


def _yes(value: bool | None) -> str:
    return "-" if value is None else "yes" if value else "no"


def _together(domains: DomainMeasurement) -> Iterator[str]:
    for pool, found in domains.joint.items():
        if found is not None:
            yield (
                f"Pool {pool}: panels that no job holds whole opened and closed as well, "
                f"{count(found.partial_panels, 'partial panel')} and then "
                f"{count(found.partial_domains, 'partial domain')} are the fewest."
            )


def _without(domains: DomainMeasurement) -> Iterator[str]:
    if domains.nodes_without_domain:
        yield f"Nodes that name no domain, left out here: {domains.nodes_without_domain}."
