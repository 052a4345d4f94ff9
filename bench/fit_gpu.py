#!/usr/bin/env python3
"""The numbers of the GPU cost model, fitted to a run of all kernels.

usage: fit_gpu.py RESULT.json... >gpu/fitted_numbers.h
       (of `xgemm bench --kernels all --json FILE`, e.g. suite gpu-kernels)

Writes a line for each kernel: efficiency, step_ns and fill_us of one that works in tiles, efficiency,
fill_us and bandwidth of one that streams; and how well the model then agrees. On stderr, what picking
by the fitted model costs over the rows. gpu/pick_cost.c has the formulas.
"""
import json
import math
import sys

LAUNCH = 1e-6


def rows_of(paths):
    for path in paths:
        with open(path) as file:
            data = json.load(file)
        for row in data["rows"]:
            times = {}
            for result in row["results"]:
                if result.get("status") == "good" and "model" in result:
                    seconds = result.get("graph_s") or result["median_s"]
                    times[result["kernel"]] = (seconds, result["model"])
            if times:
                yield row, times


def memory_seconds(row, share, bandwidth):
    size = 8 if row["type"] == "f64" else 4
    m, n, k = row["m"], row["n"], row["k"]
    moved = size * (m * k + k * n + m * n * (2 if row["beta"] else 1))
    return moved / (share * bandwidth)


def tile_seconds(row, model, numbers):
    efficiency, step, fill = numbers
    sms, blocks = model["sms"], model["blocks"]
    flops = 2.0 * model["bm"] * model["bn"]
    rate = model["peak"] / sms * efficiency
    steps = math.ceil(row["k"] / model["split"])

    def round_(each):
        return fill * 1e-6 + steps * max(step * 1e-9, each * flops / rate)

    full = math.floor(model["tiles"] / (sms * blocks))
    rest = math.ceil((model["tiles"] - full * sms * blocks) / sms)
    arithmetic = full * round_(blocks) + (round_(rest) if rest else 0)
    return max(arithmetic, memory_seconds(row, 0.85, model["bandwidth"])) + LAUNCH


def stream_seconds(row, model, numbers):
    efficiency, share, fill = numbers
    arithmetic = 2.0 * row["m"] * row["n"] * row["k"] / (efficiency * model["peak"])
    memory = memory_seconds(row, share, model["bandwidth"])
    return max(arithmetic, memory) + fill * 1e-6 + LAUNCH


def error(function, samples, numbers):
    """Mean squared log of predicted / measured; rows where the kernel is hopeless count little."""
    total = weight = 0.0
    for row, model, seconds, best in samples:
        w = min(1.0, (best / seconds) ** 2)
        total += w * math.log(function(row, model, numbers) / seconds) ** 2
        weight += w
    return total / weight


def descend(function, samples, numbers):
    """Coordinate descent with a shrinking factor: three numbers, no derivative, no library."""
    best, factor = error(function, samples, numbers), 1.6
    while factor > 1.004:
        moved = False
        for i in range(len(numbers)):
            for f in (factor, 1 / factor):
                trial = list(numbers)
                trial[i] *= f
                e = error(function, samples, trial)
                if e < best:
                    best, numbers, moved = e, trial, True
        if not moved:
            factor = math.sqrt(factor)
    return numbers, best


def main():
    rows = list(rows_of(sys.argv[1:]))
    samples = {}
    for row, times in rows:
        fastest = min(seconds for seconds, _ in times.values())
        for kernel, (seconds, model) in times.items():
            samples.setdefault(kernel, []).append((row, model, seconds, fastest))
    fitted = {}
    print("/* Written by bench/fit_gpu.py; %s.\n * efficiency, step_ns, fill_us, bandwidth; agreement. */" % stamp())
    for kernel in sorted(samples):
        streams = samples[kernel][0][1]["streams"]
        function = stream_seconds if streams else tile_seconds
        start = [0.6, 0.8, 2.0] if streams else [0.8, 20.0, 2.0]
        numbers, e = descend(function, samples[kernel], start)
        fitted[kernel] = (function, numbers)
        efficiency, second, fill = numbers
        fields = (efficiency, 0, fill, second) if streams else (efficiency, second, fill, 0)
        line = '{"%s", {%s}},' % (kernel, ", ".join("%.3g" % x for x in fields))
        print("%-72s /* +-%.0f %%, %d rows */" % (line, 100 * math.sqrt(e), len(samples[kernel])))
    judge(rows, fitted)


def stamp():
    with open(sys.argv[1]) as file:
        data = json.load(file)
    machine = data["machine"]
    name = machine.get("gpu") if isinstance(machine, dict) else machine
    return "%s, %s" % (name, data["date"])


def judge(rows, fitted):
    lost = []
    for row, times in rows:
        fastest = min(times, key=lambda kernel: times[kernel][0])
        chosen = min(times, key=lambda kernel: fitted[kernel][0](row, times[kernel][1], fitted[kernel][1]))
        lost.append((times[chosen][0] / times[fastest][0], row, chosen, fastest))
    lost.sort(key=lambda x: -x[0])
    within = sum(1 for x in lost if x[0] <= 1.05) / len(lost)
    print("picked by this model: within 5 %% of the best kernel in %.1f %% of %d rows" % (100 * within, len(lost)),
          file=sys.stderr)
    for ratio, row, chosen, fastest in lost[:15]:
        print("  %.2f %s %s %s%s: %s, best %s" % (ratio, row["name"], row["type"], row["transa"], row["transb"],
                                                  chosen, fastest), file=sys.stderr)


if __name__ == "__main__":
    main()
