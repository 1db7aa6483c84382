#!/usr/bin/env python3
"""Count what `go test -json` on standard input says, as a line of docs/versions.md.

    go test -json ./... | count.py VERSION FILE

What failed is shown with its output; FILE gets the line. The exit status is 1 if a test or package failed,
or if none ran.
"""
import collections
import json
import sys


def main(version, file):
    counts = collections.Counter()
    outputs = collections.defaultdict(list)
    seconds = 0.0
    for line in sys.stdin:
        try:
            event = json.loads(line)
        except ValueError:
            print(line, end="")  # what the go command itself has to say
            continue
        action, test = event["Action"], event.get("Test")
        key = (event.get("Package", event.get("ImportPath")), test)
        if action in ("output", "build-output"):
            outputs[key].append(event["Output"])
        elif action == "build-fail":
            counts["fail"] += 1
            print("".join(outputs[key]), end="")
        elif action in ("pass", "fail", "skip"):
            if test is not None or action == "fail":
                counts[action] += 1
            if test is None:
                seconds += event.get("Elapsed", 0)
                print(f"    {key[0]} {action} {event.get('Elapsed', 0):.1f} s", flush=True)
            if action == "fail":
                print("".join(outputs[key]), end="", flush=True)
            outputs.pop(key, None)
    text = f"| {version} | {counts['pass']:,} | {counts['fail']} | {counts['skip']} | {seconds:.0f} |"
    with open(file, "w") as f:
        print(text, file=f)
    print(text)
    return 1 if counts["fail"] or not counts["pass"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
