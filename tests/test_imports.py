"""Nothing imports upwards: with the contract against circles among siblings, no circle is left (pyproject.toml)."""

from __future__ import annotations

import grimp
import pytest


@pytest.mark.parametrize("package", ["compass_core", "oracle", "proofs", "simulation"])
def test_no_module_imports_a_package_it_is_in(package: str) -> None:
    """What the __init__ of a package offers is for others: imports for types and inside functions count too."""
    graph = grimp.build_graph(package, cache_dir=None)
    upwards = [
        (module, imported)
        for module in sorted(graph.modules)
        for imported in sorted(graph.find_modules_directly_imported_by(module))
        if module.startswith(f"{imported}.")
    ]
    assert upwards == []
