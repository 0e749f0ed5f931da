"""`make demo`: runs samples in a real cluster with our webhook and controller.

`scenario` lists the samples and how each must end, `ledger` checks what was seen, `table` shows it,
`__main__` runs all.
"""
