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


# ---- operands on the card

def on_card(data):
    return any("copy_gb_s" in result for row in data["rows"] for result in row.get("results", []))


def judged(result):
    """Seconds that count: of short calls, within a graph."""
    return result.get("graph_s") or result["median_s"]


def good(results, engine):
    result = results.get(engine)
    return result if result and result["status"] == "good" else None


def fixed(value, digits=2):
    return "" if value is None else f"{value:.{digits}f}"


def card_row(row):
    """The ratio to sort by, and the cells."""
    results = {result["engine"]: result for result in row["results"]}
    own, peer = good(results, "gpu"), good(results, "cublas")
    odd = " ld + " + str(row["ldc"] - row["m"]) if row["layout"] == "col" and row["ldc"] > row["m"] else ""
    cells = [row["name"] + odd, row["type"], row["transa"] + row["transb"], f"{row['m']}×{row['n']}×{row['k']}"]
    if own is None:
        return 0, cells + ["wrong" if results["gpu"]["status"] == "wrong" else "–"] + [""] * 8
    ratio, eager = own.get("ratio", {}).get("cublas"), own.get("eager_ratio", {}).get("cublas")
    floor = own.get("memory_floor")
    cells += [f"{1e6 * judged(own):.2f}", f"{own['gflops'] / 1e3:.2f} ({100 * own['gflops'] / own['peak_gflops']:.0f} %)",
              f"{own['gb_s']:.0f}", "" if floor is None else f"{100 * floor['share92']:.0f} %",
              "" if peer is None else f"{1e6 * judged(peer):.2f}", "" if peer is None else peer["kernel"],
              fixed(ratio), fixed(eager), own["kernel"]]
    choice = row.get("choice")
    if choice:
        cells[-1] += f" ({choice['ratio']:.2f} of {choice['best']})" if choice["ratio"] > 1.05 else ""
    return (ratio or 0) if not choice else -choice["ratio"], cells


def card_table(data):
    head = ["shape", "type", "ops", "m×n×k", "µs", "TFLOP/s (share of peak)", "GB/s", "of the floor", "cuBLAS µs",
            "by", "gpu ÷ cublas", "eager", "kernel"]
    rows, lines = [card_row(row) for row in data["rows"]], []
    groups = [g for g in data.get("summary", []) if g["own"] == "gpu"]
    if groups:
        lines += lines_of(
            ["peer", "type", "rows", "geomean", "worst", "under " + str(groups[0]["threshold"]), "eager geomean",
             "eager worst"],
            [[g["peer"], g["type"], str(g["rows"]), f"{g['geomean']:.3f}", f"{g['worst']:.3f} ({g['worst_row']})",
              str(g["under"]), fixed(g.get("eager", {}).get("geomean"), 3), fixed(g.get("eager", {}).get("worst"), 3)]
             for g in groups]) + [""]
    for c in data.get("choices", []):
        lines += [f"{c['type']}: the kernel taken is within 5 % of the best legal one in {c['percent']:.1f} % of "
                  f"{c['rows']} rows; the worst: {c['worst']:.2f} ({c['worst_row']}).", ""]
    if len(rows) > 64:
        rows = sorted(rows, key=lambda pair: pair[0])[:12]
        lines += [f"The {len(rows)} worst rows:", ""]
    return lines + lines_of(head, [cells for _, cells in rows])


# ---- the ladder

def megabytes(value):
    return "–" if not value else f"{value / 1e6:.4g}"


def ladder_cells(row):
    own, x, counted = row["results"][0], row["predicted"], row.get("counted", {})
    cells = [row["rung"], row["idea"]]
    if own["status"] == "good":
        share = own.get("ratio", {}).get("cublas")
        classes, limit = own.get("classes"), own["limit"]
        cells += [f"{1e6 * judged(own):.1f}", f"{own['gflops'] / 1e3:.2f}", "" if share is None else f"{100 * share:.0f} %"]
    else:
        classes = limit = None
        cells += ["wrong" if own["status"] == "wrong" else "–", "", ""]
    cells += [f"{row['published_percent']} %" if row["published_percent"] else "–",
              f"{megabytes(x['ideal_bytes'])} to {megabytes(x['tiled_bytes'])}", megabytes(counted.get("dram_bytes")),
              megabytes(x["shared_bytes"]), megabytes(counted.get("shared_bytes")),
              fixed(x["attainable_gflops"] / 1e3, 1) if "attainable_gflops" in x else ""]
    best = ""
    if classes:
        own_s, best_s = classes[classes["own"] + "_s"], classes[classes["fastest"] + "_s"]
        best = "own" if classes["fastest"] == classes["own"] else f"{classes['fastest']}, {own_s / best_s:.2f} times as fast"
    cells += [best, "" if not limit else limit["binds"] + (" (modelled)" if limit["bytes"] == "modelled" else "")]
    return cells


def ladder_product(rows):
    first = rows[0]
    peer = next((r for row in rows for r in row["results"] if r["engine"] == "cublas" and r["status"] == "good"), None)
    lines = [f"**{first['m']}³, {first['type']}, {first['transa']}{first['transb']}** ({first['predicted']['class']})"
             + (f"; {peer['kernel']} {1e6 * judged(peer):.1f} µs, {peer['gflops'] / 1e3:.2f} TFLOP/s" if peer else ""), ""]
    lines += lines_of(["rung", "idea", "µs", "TFLOP/s", "of cuBLAS", "published", "device MB, ideal to tiled", "counted",
                       "shared MB", "counted", "roof, TFLOP/s", "best tile", "nearest limit"],
                      [ladder_cells(row) for row in rows])
    for row in rows:
        fused = row["results"][0].get("fused")
        if fused:
            predicted = f", {1e6 * fused['predicted_saved_s']:.1f} µs at the copy rate" if "predicted_saved_s" in fused else ""
            lines += ["", f"Bias and ReLU as two passes after rung {row['rung']}: {1e6 * fused['separate_s']:.1f} µs; fusing "
                          f"them saves {1e6 * fused['saved_s']:.1f} µs ({fused['saved_bytes'] / 1e6:.1f} MB{predicted})."]
    return lines + [""]


def striding(rows):
    """How far each rung falls when neighbouring lanes stride."""
    straight = {(row["rung"], row["type"], row["m"]): row for row in rows if row["transa"] + row["transb"] == "NN"}
    cells = []
    for row in rows:
        other = straight.get((row["rung"], row["type"], row["m"]))
        if row is other or not other or row["results"][0]["status"] != "good" or other["results"][0]["status"] != "good":
            continue
        a, b = other["results"][0], row["results"][0]
        per = [x.get("counted", {}).get("sectors_per_request") for x in (other, row)]
        conflicts = [x.get("counted", {}).get("bank_conflicts") for x in (other, row)]
        cells.append([row["rung"], row["type"], f"{row['m']}³", row["transa"] + row["transb"], f"{a['gflops'] / 1e3:.2f}",
                      f"{b['gflops'] / 1e3:.2f}", f"{b['gflops'] / a['gflops']:.2f}"]
                     + ["" if None in pair else f"{pair[0]:.{digits}f}, {pair[1]:.{digits}f}"
                        for pair, digits in ((per, 1), (conflicts, 0))])
    if not cells:
        return []
    return ["Operands that lie the wrong way (TT beside NN):", ""] + lines_of(
        ["rung", "type", "size", "ops", "NN, TFLOP/s", "here", "share", "sectors a request, NN and here",
         "bank conflicts, NN and here"], cells)


def ladder_tables(data):
    products, lines = {}, []
    for row in data["rows"]:
        if row["transa"] + row["transb"] == "NN":
            products.setdefault((row["type"], row["m"]), []).append(row)
    for rows in products.values():
        lines += ladder_product(rows)
    return lines + striding(data["rows"])


def body(data):
    if data["rows"] and "rung" in data["rows"][0]:
        return ladder_tables(data)
    if on_card(data) and any(r["engine"] == "gpu" for r in data["rows"][0]["results"]) and not any(
            r["engine"] == "gpu+copy" for r in data["rows"][0]["results"]):
        return card_table(data)
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
    if "card" in data and data["rows"]:
        what = f"Medians with operands on the card, copies at {data['card']['copy_gb_s']:.0f} GB/s,"
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
    if not [name for name in arguments if name != "--check"]:
        print("usage: render.py [--check] DOCUMENT...")
        return 2
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
