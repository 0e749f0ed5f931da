"""Reasons why workloads wait, from Kueue's objects and pods: facts and sentences. Pure."""
