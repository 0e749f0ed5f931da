"""Work queue, informers, worker: knows nothing of phases."""
