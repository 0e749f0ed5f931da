"""`make demo`: a real cluster with our webhook and controller, and samples going through it.

`scenario` says which samples and how each must end, `ledger` judges what was seen, `table` shows
it, `__main__` runs it all.
"""
