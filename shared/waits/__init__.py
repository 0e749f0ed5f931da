"""Why something waits, from objects of Kueue and pods: facts and sentences. Pure."""
