"""Cases of a client: functions that are run one after the other, a line for each."""

import sys
import time
import traceback

_cases = []


def case(function):
    """Adds a case; its name is what the line says."""
    _cases.append(function)
    return function


def run(client, start):
    """Runs all cases, each with what `start` gives it; ends the program with 1 if one failed."""
    failures = 0
    for function in _cases:
        name = f"{client}: {function.__name__.replace('_', ' ')}"
        begun = time.monotonic()
        try:
            with start() as given:
                function(given)
        except Exception:
            failures += 1
            print(f"FAILED: {name}", flush=True)
            traceback.print_exc(limit=-4, file=sys.stdout, chain=False)
        else:
            print(f"ok: {name} ({time.monotonic() - begun:.1f} s)", flush=True)
    sys.exit(1 if failures else 0)
