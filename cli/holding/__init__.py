"""`appwrapper hold` and `release`: they write one annotation; the controller does the rest."""
