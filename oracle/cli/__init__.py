"""The `sifopt` command: its commands, what each tells people, and the one way in and out."""
