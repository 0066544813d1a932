#!/usr/bin/env python3
"""clang-tidy-19 over the files of a build, with the short list of .clang-tidy.

usage: tidy.py BUILD_FOLDER [--seconds N] [--jobs N] [FILE...]

A file that passed is remembered under ~/.cache/lockstep/tidy by a digest of everything clang-tidy
reads (the file, the headers of the tree it includes, its flags, .clang-tidy), so a later run looks
at what changed. Within a time limit the smallest files are left for last; the count of files
not reached is printed, never hidden.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

TIDY = "clang-tidy-19"
TEST_FILE = re.compile(r"(_test|_fuzz|_bench)\.cc$|/testing/|/tests/")
ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "lockstep/tidy"


def headers_by_object(build: pathlib.Path) -> dict[str, list[pathlib.Path]]:
    """Headers of the tree that each object was built from, as ninja recorded them."""
    listing = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, capture_output=True,
                             text=True).stdout
    headers, current = {}, None
    for line in listing.splitlines():
        if line.startswith("    "):
            path = (build / line.strip()).resolve()
            if path.is_relative_to(ROOT):
                current.append(path)
        elif ": #deps" in line:
            current = headers.setdefault(line.split(":")[0], [])
    return headers


def digest(entry: dict, headers: list[pathlib.Path]) -> str:
    state = hashlib.sha256(entry["command"].replace(str(ROOT), "").encode())
    for path in [ROOT / ".clang-tidy", pathlib.Path(entry["file"]), *sorted(set(headers))]:
        state.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return state.hexdigest()


def look(build: pathlib.Path, entry: dict) -> str:
    """What clang-tidy says about one file; empty when it is quiet."""
    command = [TIDY, "--quiet", "-p", build, entry["file"]]
    if TEST_FILE.search(entry["file"]):
        command.append("--checks=-performance-*")  # clarity comes first in a test
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else ""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("files", nargs="*")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_intermixed_args()
    started = time.monotonic()
    CACHE.mkdir(parents=True, exist_ok=True)

    wanted = {str(pathlib.Path(name).resolve()) for name in options.files}
    headers = headers_by_object(options.build)
    work = {}
    for entry in json.loads((options.build / "compile_commands.json").read_text()):
        if entry["file"].endswith(".cc") and (not wanted or entry["file"] in wanted):
            object_file = re.search(r" -o (\S+)", entry["command"])[1]
            key = digest(entry, headers.get(object_file, []))
            if not (CACHE / key).exists():
                work[key] = entry

    order = sorted(work, key=lambda key: -os.path.getsize(work[key]["file"]))
    skipped, faulty = [], 0

    def run(key: str) -> tuple[str, str | None]:
        if time.monotonic() - started > options.seconds:
            return key, None
        return key, look(options.build, work[key])

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for key, said in pool.map(run, order):
            if said is None:
                skipped.append(work[key]["file"])
            elif said:
                faulty += 1
                print(said.replace(str(ROOT) + "/", ""), end="")
            else:
                (CACHE / key).touch()

    print(f"clang-tidy: {len(order) - len(skipped)} files looked at, {faulty} with findings"
          + (f", {len(skipped)} not reached in {options.seconds:.0f} s" if skipped else ""))
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main())
