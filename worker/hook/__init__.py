"""Code inside the recorded Python processes: a folder that the recorder puts on PYTHONPATH."""
