#!/usr/bin/env python3
"""Count what `go test -json` on standard input says, as a line of docs/versions.md.

    go test -json ./... | count.py FILE CELL... -- SUITE...

The line begins with the cells given, has one for each suite and one for the seconds of all packages, and goes
to FILE. A package belongs to the suite that is named last in its path. What failed is shown with its output. The
exit status is 1 if a test or package failed, or if no test passed.
"""
import collections
import json
import sys


def main(file, *words):
    cells, suites = list(words[: words.index("--")]), words[words.index("--") + 1 :]
    counts = {suite: collections.Counter() for suite in suites}
    outputs = collections.defaultdict(list)
    seconds, failing = 0.0, set()  # packages with a failed test
    for line in sys.stdin:
        try:
            event = json.loads(line)
        except ValueError:
            print(line, end="")  # what the go command itself has to say
            continue
        action, test = event["Action"], event.get("Test")
        package = event.get("Package", event.get("ImportPath", "")).split()[0]
        suite = next((part for part in reversed(package.split("/")) if part in counts), None)
        count = counts[suite] if suite else collections.Counter()  # what the packages import: they fail with it
        outputs_of = outputs[package, test]
        if action in ("output", "build-output"):
            outputs_of.append(event["Output"])
        elif action in ("pass", "fail", "skip", "build-fail"):
            failed = action.endswith("fail")
            if test is not None or failed and package not in failing:
                count["fail" if failed else action] += 1
            if failed:
                failing.add(package)
            if test is None and action != "build-fail":
                seconds += event.get("Elapsed", 0)
                print(f"    {package} {action} {event.get('Elapsed', 0):.1f} s", flush=True)
            if failed:
                print("".join(outputs_of), end="", flush=True)
            outputs.pop((package, test), None)
    line = "| " + " | ".join(cells + [cell(counts[suite]) for suite in suites] + [f"{seconds:.0f}"]) + " |"
    with open(file, "w") as f:
        print(line, file=f)
    print(line)
    total = sum(counts.values(), collections.Counter())
    return 0 if total["pass"] and not total["fail"] else 1


def cell(count):
    others = [f"{count[kind]} {word}" for kind, word in (("fail", "failed"), ("skip", "skipped")) if count[kind]]
    return ", ".join([f"{count['pass']:,} passed", *others])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
