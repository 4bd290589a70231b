"""Run the command line with ``python -m polarsfair``."""

from polarsfair.cli import main

if __name__ == "__main__":
    main()
