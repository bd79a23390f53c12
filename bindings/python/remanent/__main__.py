"""The program `remanent`: shell, server and tools; `python -m remanent` is the same."""

import signal
import sys

from . import _remanent


def main() -> None:
    """Does what the words of the command line say, and ends the process."""
    # The program's own, where it has one: Ctrl-C is not for the interpreter.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_remanent.main(sys.argv[1:]))


if __name__ == "__main__":
    main()
