"""Every claim of the paper and of this project, settled by machine; and a kit that checks schedulers of your own.

`proofs.register` lists the claims, ``compass-prove`` settles them, `proofs.conformance` has `check_scheduler`. Both
need the extra ``proofs``.
"""
