"""``python -m siltstone``: the command line."""

from siltstone.cli.__main__ import main

if __name__ == "__main__":
    main()
