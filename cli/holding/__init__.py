"""`appwrapper hold` and `release`: one annotation of the AppWrapper; the controller does the rest."""
