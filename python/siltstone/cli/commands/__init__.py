"""One module a group of commands; each lists its commands in ``COMMANDS``."""
