"""Every claim of the paper and of this project, settled by machine; and a kit that checks schedulers of your own.

`proofs.register` lists the claims, ``compass-prove`` settles them; both need the extra ``proofs``. `check_scheduler` of
`proofs.conformance` does not.
"""
