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


def own_names(data):
    peers = [peer["name"] for peer in data["peers"]]
    engines = []
    for row in data["rows"]:
        for result in row["results"]:
            if result["engine"] not in engines:
                engines.append(result["engine"])
    return [name for name in engines if name not in peers], [name for name in engines if name in peers]


def lines_of(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(cells) + " |" for cells in rows]


def bound(result):
    """The share of the bound, and what bounds."""
    if not result or result["status"] != "good" or "bound" not in result:
        return ""
    return f"{100 * result['gflops'] / result['bound']['gflops']:.0f} % {result['bound']['by']}"


def table(data):
    own, peers = own_names(data)
    ratios = [(a, b) for a in own for b in peers]
    bounded = data.get("pages", {}).get("operands", "default") != "default"
    remarks = any("remark" in row for row in data["rows"])
    head = ["shape", "type", "ops", "threads", *own, *peers, *(f"{a} ÷ {b}" for a, b in ratios)]
    head += ["of the bound"] * bounded + ["reported elsewhere"] * remarks
    rows = []
    for row in data["rows"]:
        results = {result["engine"]: result for result in row["results"]}
        cells = [row["name"], row["type"], row["transa"] + row["transb"], str(row["threads"])]
        cells += [rate(results.get(engine)) for engine in own + peers]
        for a, b in ratios:
            ratio = results.get(a, {}).get("ratio", {}).get(b)
            cells.append("" if ratio is None else f"{ratio:.2f}")
        cells += [bound(results.get(own[0]))] * bounded + [row.get("remark", "")] * remarks
        rows.append(cells)
    return lines_of(head, rows)


def summary(data):
    """What all rows say together, and the worst of them."""
    lines = lines_of(
        ["ours", "peer", "type", "threads", "rows", "geomean", "worst", "under " + str(data["summary"][0]["threshold"])],
        [[g["own"], g["peer"], g["type"], str(g["threads"]), str(g["rows"]), f"{g['geomean']:.3f}",
          f"{g['worst']:.3f} ({g['worst_row']})", str(g["under"])] for g in data["summary"]])
    rows, wins = [], {}
    for row in data["rows"]:
        results = {result["engine"]: result for result in row["results"]}
        picked = row.get("best_peer")
        wins[picked] = wins.get(picked, 0) + 1
        own = row["results"][0]
        for peer, ratio in own.get("ratio", {}).items():
            if (picked or peer) == peer and "+" not in peer:
                rows.append((ratio, [row["name"], row["type"], row["transa"] + row["transb"],
                                     f"{row['m']}×{row['n']}×{row['k']}", str(row["threads"]), rate(own),
                                     rate(results.get(peer)), peer, f"{ratio:.2f}", row.get("remark", "")]))
    head = ["shape", "type", "ops", "m×n×k", "threads", "cpu", "peer", "which", "cpu ÷ peer"]
    remarks = any(cells[-1] for _, cells in rows)
    worst = sorted(rows, key=lambda pair: pair[0])[:None if remarks else 12]
    lines += ["", "All rows:" if remarks else f"The {len(worst)} worst rows:", ""]
    lines += lines_of(head + ["reported elsewhere"] * remarks, [cells[:None if remarks else -1] for _, cells in worst])
    if any(wins):
        best = sorted(((count, name) for name, count in wins.items() if name), reverse=True)
        lines += ["", "The best peer was " + ", ".join(f"{name} {count} times" for count, name in best) + "."]
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


def bits(data):
    odd = [row["name"] + " " + row["type"] for row in data["rows"] if row["bits"] != "equal"]
    return [f"{len(data['rows'])} products, {len(odd)} not equal for each number of threads."] + odd


def body(data):
    if data["rows"] and "model" in data["rows"][0]:
        return model_table(data)
    if data["rows"] and "bits" in data["rows"][0]:
        return bits(data)
    if data.get("summary") and (any("best_peer" in row for row in data["rows"]) or len(data["rows"]) > 60):
        return summary(data)
    return table(data)


def render(name):
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return f"\nNot measured yet: `xgemm goals --measure --suite {name.split('.')[0]}`.\n\n"
    data = json.loads(path.read_text())
    machine = data["machine"]
    where = machine["cpu"] + (f", {machine['gpu']}" if machine.get("gpu") else "")
    said = [f"{peer['name']}: {peer['version']}" for peer in data["peers"] if peer["version"]]
    model = data["rows"] and "model" in data["rows"][0]
    what = "Shares of the FMA peak" if model else "GFLOP/s of the median call (share of peak)"
    lines = ["", f"{what} on {where}, {machine['cores']} cores, "
                 f"{data['date'][:10]}, libxgemm {data['libxgemm']}"
                 + "".join(f"; {text}" for text in said)
                 + f". `{' '.join(data['command'])}`", ""]
    lines += body(data)
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
