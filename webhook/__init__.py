"""Binary 1: the FastAPI admission webhook. Serves on every replica, needs no lease."""
