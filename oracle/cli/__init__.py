"""The `sifopt` command: one module a command, one for what they share, one for the way in and out."""
