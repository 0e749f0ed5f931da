"""Teams: their namespace, quota, queue and users, and what `appwrapper team` does with them."""
