"""What one AppWrapper says about its own fault tolerance, in annotations. Pure.

Each kind of value is read in two ways. `parse_…` is strict, for the webhook: what it refuses, it
explains. `read_…` never fails, for the controller: an AppWrapper that no webhook has seen must be
looked after all the same. What the strict one accepts means the same to both.
"""
