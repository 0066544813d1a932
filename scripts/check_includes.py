#!/usr/bin/env python3
"""Checks the include arrows of docs/architecture.md over src/.

usage: check_includes.py [ROOT]   the tree to check (default: the one this script is in)
       check_includes.py --self-test
"""

import pathlib
import re
import sys
import tempfile

# A folder may include itself and these; "*" is everything.
ARROWS = {
    "base": [],
    "formats": ["base"],
    "text": ["base", "formats"],
    "device": ["base"],
    "model": ["base", "formats", "device"],
    "kv": ["base"],
    "sched": ["base", "kv"],
    "engine": ["base", "text", "device", "model", "kv", "sched"],
    "cluster": ["base", "formats", "text", "kv", "engine"],
    "serve": ["base", "formats", "text", "engine", "cluster"],
    "chat": ["*"],
    "verify": ["*"],
    "bench": ["*"],
    "tools": ["*"],
}
# Devices by their own headers: for device/ and the folders that may see everything. Others go
# through the seam above them.
PRIVATE = ["device/cpu", "device/cuda", "device/no_cuda", "device/reference"]
# Tests also see what their folder's arrows lead to in more steps, all devices, and testing/ folders,
# which no program may contain.
TEST_FILE = re.compile(r"(_test|_fuzz|_bench)\.cc$|(^|/)testing/")

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
SOURCES = {".h", ".cc", ".cu", ".cuh"}


def reachable(folder: str) -> set[str]:
    """The folders that the arrows of `folder` lead to, in any number of steps."""
    found, todo = set(), [folder]
    while todo:
        for below in ARROWS[todo.pop()]:
            if below not in found and below != "*":
                found.add(below)
                todo.append(below)
    return found


def fault(source: str, target: str, exists: bool) -> str | None:
    """Why `source` may not include `target` (both relative to src/), or None."""
    if not exists:
        return "no such file under src/"
    ours, theirs = source.split("/")[0], target.split("/")[0]
    if ours not in ARROWS:
        return f"the folder {ours}/ has no arrows in {pathlib.Path(__file__).name}"
    is_test = TEST_FILE.search(source) is not None
    sees_all = "*" in ARROWS[ours]
    allowed = sorted(reachable(ours)) if is_test else ARROWS[ours]
    if ours != theirs and not sees_all and theirs not in allowed:
        return f"{ours}/ may include only {', '.join(allowed) or 'nothing'}"
    for folder in PRIVATE:
        parent = folder.split("/")[0]
        if target.startswith(folder + "/") and ours != parent and not sees_all and not is_test:
            return f"{folder}/ is private to {parent}/"
    if "/testing/" in target and not is_test:
        return "helpers of tests are for tests alone"
    return None


def check(root: pathlib.Path) -> list[str]:
    src = root / "src"
    faults = []
    for path in sorted(p for p in src.rglob("*") if p.suffix in SOURCES):
        source = path.relative_to(src).as_posix()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            why = fault(source, found[1], (src / found[1]).is_file())
            if why:
                faults.append(f'src/{source}:{number}: #include "{found[1]}": {why}')
    return faults


def self_test() -> int:
    """Each bad include is named, each good one passes."""
    files = {
        "base/a.h": "",
        "base/bad_up.h": '#include "formats/a.h"\n',
        "base/bad_missing.h": '#include "a.h"\n',
        "formats/a.h": '#include "base/a.h"\n#include <vector>\n',
        "formats/testing/maker.h": '#include "formats/a.h"\n',
        "formats/a_test.cc": '#include "formats/testing/maker.h"\n',
        "formats/bad_helper.cc": '#include "formats/testing/maker.h"\n',
        "device/device.h": '#include "base/a.h"\n',
        "device/bad_sideways.h": '  #  include "model/m.h"\n',
        "device/cpu/k.h": '#include "device/device.h"\n',
        "device/factory.cc": '#include "device/cpu/k.h"\n',
        "model/m.h": '#include "device/device.h"\n// #include "engine/none.h"\n',
        "model/bad_private.cc": '#include "device/cpu/k.h"\n',
        "engine/a_test.cc": '#include "formats/a.h"\n#include "device/cpu/k.h"\n',
        "engine/bad_far.cc": '#include "formats/a.h"\n',
        "kv/bad_far_test.cc": '#include "formats/a.h"\n',
        "unlisted/bad_folder.h": '#include "base/a.h"\n',
        "tools/main.cc": '#include "model/m.h"\n#include "device/cpu/k.h"\n',
    }
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            path = root / "src" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        named = {re.match(r"src/([^:]+):", line)[1] for line in check(root)}
    expected = {name for name in files if "/bad_" in name}
    if named != expected:
        print(f"self-test: missed {sorted(expected - named)}, wrongly named {sorted(named - expected)}")
        return 1
    print(f"self-test: {len(expected)} bad includes caught")
    return 0


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = pathlib.Path(sys.argv[1]) if sys.argv[1:] else pathlib.Path(__file__).parent.parent
    faults = check(root)
    for line in faults:
        print(line)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
