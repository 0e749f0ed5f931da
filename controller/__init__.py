"""Binary 2: the fault-tolerance controller."""
