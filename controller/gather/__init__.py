"""Reads only: builds the Snapshot a decision is made on, or raises if it cannot see."""
