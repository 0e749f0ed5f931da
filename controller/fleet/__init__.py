"""What keeps a whole cluster safe from its own resets: their pace, their pause, and the breaker."""
