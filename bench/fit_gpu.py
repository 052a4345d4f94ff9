#!/usr/bin/env python3
"""The numbers of the GPU cost model, fitted to a run of all kernels.

usage: fit_gpu.py RESULT.json...      (of `xgemm bench --kernels all --json`, e.g. suite gpu-kernels)

For each kernel that works in tiles it prints efficiency, step_ns and fill_us for the descriptor, for
each that streams efficiency, bandwidth and fill_us, and how well the model then agrees; last, what
picking by the fitted model would have cost over the rows. gpu/pick_cost.c has the formulas.
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
    for kernel in sorted(samples):
        streams = samples[kernel][0][1]["streams"]
        function = stream_seconds if streams else tile_seconds
        numbers, e = descend(function, samples[kernel], [0.6, 0.8, 2.0] if streams else [0.8, 20.0, 2.0])
        fitted[kernel] = (function, numbers)
        names = ("efficiency", "bandwidth" if streams else "step_ns", "fill_us")
        text = ", ".join(".%s = %.3g" % pair for pair in zip(names, numbers))
        print("%-34s %s,   +-%.0f %% over %d rows" % (kernel, text, 100 * math.sqrt(e), len(samples[kernel])))
    lost = []
    for row, times in rows:
        fastest = min(times, key=lambda kernel: times[kernel][0])
        chosen = min(times, key=lambda kernel: fitted[kernel][0](row, times[kernel][1], fitted[kernel][1]))
        ratio = times[chosen][0] / times[fastest][0]
        lost.append((ratio, row, chosen, fastest))
    lost.sort(key=lambda x: x[0])
    within = sum(1 for x in lost if x[0] <= 1.05) / len(lost)
    print("picked by this model: within 5 %% of the best kernel in %.1f %% of %d rows" % (100 * within, len(lost)))
    for ratio, row, chosen, fastest in lost[::-1][:15]:
        print("  %.2f %s %s %s%s: %s, best %s" % (ratio, row["name"], row["type"], row["transa"],
                                                  row["transb"], chosen, fastest))


if __name__ == "__main__":
    main()
