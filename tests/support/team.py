"""Names the team whose namespace most tests on the shared cluster work in."""

NAMESPACE = "team1"
