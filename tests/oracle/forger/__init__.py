"""False documents on purpose: what `sifopt verify` has to refuse, or to name as not rechecked.

`python -m tests.oracle.forger` forges documents and prints what became of them.
"""
