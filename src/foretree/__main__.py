"""`python -m foretree` is the command line."""

from foretree.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
