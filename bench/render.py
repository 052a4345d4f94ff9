#!/usr/bin/env python3
"""Writes result tables into documents.

usage: bench/render.py [--check] DOCUMENT...

Between the lines <!-- results:NAME --> and <!-- /results --> of a document the rows of
bench/results/NAME.json are put as a table. --check changes nothing and exits 1 if a table is not
what its file says.
"""
import json
import pathlib
import re
import sys

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
BLOCK = re.compile(r"(<!-- results:([\w.+-]+) -->\n).*?(<!-- /results -->)", re.S)


def rate(result):
    if result is None:
        return ""
    if result["status"] != "good":
        return "wrong" if result["status"] == "wrong" else "–"
    if result.get("gflops", 0) <= 0:
        return ""
    text = f"{result['gflops']:.1f}"
    if result.get("peak_gflops"):
        text += f" ({100 * result['gflops'] / result['peak_gflops']:.0f} %)"
    return text


def table(data):
    engines = []
    for row in data["rows"]:
        for result in row["results"]:
            if result["engine"] not in engines:
                engines.append(result["engine"])
    peers = [peer["name"] for peer in data["peers"]]
    own = [engine for engine in engines if engine not in peers]
    ratios = [(a, b) for a in own for b in engines if b in peers]
    head = ["shape", "type", "ops", "threads", *engines, *(f"{a} ÷ {b}" for a, b in ratios)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in data["rows"]:
        results = {result["engine"]: result for result in row["results"]}
        cells = [row["name"], row["type"], row["transa"] + row["transb"], str(row["threads"])]
        cells += [rate(results.get(engine)) for engine in engines]
        for a, b in ratios:
            ratio = results.get(a, {}).get("ratio", {}).get(b)
            cells.append("" if ratio is None else f"{ratio:.2f}")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def model_table(data):
    lines = ["| kernel | registers | FMA, load, L2 cycles a step | limit | KC, MC, NC | C, packing, edges | "
             "predicted | measured |", "|---|---|---|---|---|---|---|---|"]
    for row in data["rows"]:
        x = row["model"]
        lines.append(
            f"| {row['name']} | {x['registers']} | {x['fma']:.1f}, {x['load']:.1f}, {x['l2']:.1f} | {x['limit']} "
            f"| {x['kc']}, {x['mc']}, {x['nc']} | {100 * x['update']:.1f}, {100 * x['pack']:.1f}, "
            f"{100 * x['edge']:.1f} % | {100 * x['share']:.0f} % "
            f"| {100 * row['gflops'] / row['peak_gflops']:.0f} % |")
    return lines


def render(name):
    data = json.loads((RESULTS / f"{name}.json").read_text())
    machine = data["machine"]
    where = machine["cpu"] + (f", {machine['gpu']}" if machine.get("gpu") else "")
    said = [f"{peer['name']}: {peer['version']}" for peer in data["peers"] if peer["version"]]
    model = data["rows"] and "model" in data["rows"][0]
    what = "Shares of the FMA peak" if model else "GFLOP/s of the median call (share of peak)"
    lines = ["", f"{what} on {where}, {machine['cores']} cores, "
                 f"{data['date'][:10]}, libxgemm {data['libxgemm']}"
                 + "".join(f"; {text}" for text in said)
                 + f". `{' '.join(data['command'])}`", ""]
    lines += model_table(data) if model else table(data)
    lines += [""] + [text + "  " for text in data.get("crossover", [])]
    if not data["complete"]:
        lines += ["The run was interrupted.", ""]
    return "\n".join(lines).rstrip() + "\n\n"


def main(arguments):
    check = "--check" in arguments
    stale = 0
    for name in arguments:
        if name == "--check":
            continue
        path = pathlib.Path(name)
        before = path.read_text()
        after = BLOCK.sub(lambda m: m[1] + render(m[2]) + m[3], before)
        if before == after:
            continue
        if check:
            print(f"{name}: a table differs from bench/results; run bench/render.py {name}")
            stale = 1
        else:
            path.write_text(after)
            print(f"{name}: tables written")
    return stale


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        sys.exit(0 if len(sys.argv) > 1 else 2)
    sys.exit(main(sys.argv[1:]))
