"""The program `smc`: it installs the signal handlers before it loads anything else."""

from __future__ import annotations

from parties.base import signals

signals.watch()


def main() -> None:
    """Run the command line and exit."""
    from parties import cli

    cli.main()


if __name__ == "__main__":
    main()
