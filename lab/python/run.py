"""Runs the cases of `bench.py`, each in a process of its own, in rounds, and writes records.

    run.py [--rounds N] [--phases read,write,..] [--out DIR]

Contenders of a phase take turns, in the other order each second round, on one core. A phase whose
contenders do not all give the same check value is not reported. The time to import the package is
that of an interpreter that does so, without that of one that does nothing.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import resource
import statistics
import subprocess
import sys
import time
from typing import Any

import bench

HERE = pathlib.Path(__file__).parent
PACKAGES = {"lmdb": "lmdb", "duckdb": "duckdb", "sqlite": None, "dict": None}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--phases", default="import," + ",".join(bench.CASES))
    parser.add_argument("--out", default="target/lab")
    flags = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    records, failed = [], False
    for phase in flags.phases.split(","):
        contenders = ["bare", "remanent"] if phase == "import" else list(bench.CASES[phase])
        samples: dict[str, list[dict[str, Any]]] = {contender: [] for contender in contenders}
        for number in range(flags.rounds):
            for contender in contenders if number % 2 == 0 else reversed(contenders):
                print(f"\r{phase} {number + 1}/{flags.rounds} {contender:<16}", end="", file=sys.stderr)
                measure = imported if phase == "import" else one_case
                samples[contender].append(measure(phase, contender))
        print("\r" + " " * 60 + "\r", end="", file=sys.stderr)
        checks = {json.dumps(it["check"]) for each in samples.values() for it in each}
        if len(checks) != 1:
            print(f"{phase}: the answers differ: {checks}", file=sys.stderr)
            failed = True
            continue
        show(phase, samples)
        records += [record(phase, contender, each) for contender, each in samples.items()]
    out = pathlib.Path(flags.out)
    out.mkdir(parents=True, exist_ok=True)
    with (out / "python.jsonl").open("a") as lines:
        for each in records:
            lines.write(json.dumps(each, sort_keys=True) + "\n")
    return 1 if failed else 0


def one_case(phase: str, contender: str) -> dict[str, Any]:
    command = [sys.executable, str(HERE / "bench.py"), phase, contender]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def imported(_: str, contender: str) -> dict[str, Any]:
    text = "import remanent" if contender == "remanent" else "pass"
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter_ns()
    subprocess.run([sys.executable, "-c", text], check=True)
    wall, after = time.perf_counter_ns() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu_ns": cpu * 1e9, "wall_ns": wall, "check": None, "note": ""}


def of(samples: list[dict[str, Any]], what: str) -> dict[str, float]:
    values = [sample[what] for sample in samples]
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def show(phase: str, samples: dict[str, list[dict[str, Any]]]) -> None:
    """Prints the medians of processor time, and Remanent's over the others' in the same round."""
    first = next(it for it in samples if it.startswith("remanent"))
    print(f"{phase:<10} {'CPU ns':>12} {'wall ns':>12}   {first} / it, CPU")
    for contender, each in samples.items():
        ratios = [
            ours["cpu_ns"] / theirs["cpu_ns"]
            for ours, theirs in zip(samples[first], each, strict=True)
        ]
        cpu, wall = of(each, "cpu_ns")["median"], of(each, "wall_ns")["median"]
        print(f"  {contender:<16} {cpu:>8.0f} {wall:>12.0f}   {statistics.median(ratios):.2f}")
    print(flush=True)


def record(phase: str, contender: str, samples: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "workload": "python",
        "phase": phase,
        "contender": contender,
        "version": version(contender),
        "rows": bench.ARROW_ROWS if phase in ("arrow-in", "arrow-out", "df") else bench.ROWS,
        "per_transaction": 1,
        "rounds": len(samples),
        "cpu_ns_per_op": of(samples, "cpu_ns"),
        "wall_ns_per_op": of(samples, "wall_ns"),
        "verified": True,
        "setting": "memory",
        "medium": "memory",
        "note": samples[0]["note"],
        "machine": f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "commit": commit(),
        "run": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }


def version(contender: str) -> str:
    if contender.startswith("remanent"):
        import remanent

        return remanent.__version__
    if contender == "sqlite":
        import sqlite3

        return sqlite3.sqlite_version
    package = PACKAGES.get(contender)
    return importlib.metadata.version(package) if package else platform.python_version()


def processor() -> str:
    with open("/proc/cpuinfo") as lines:
        names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def commit() -> str:
    command = ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
