"""One function per situation, tried in the order of `chain`: the first that applies answers."""
