#!/usr/bin/env python3
"""The numbers of the GPU cost model, fitted to a run of all kernels.

usage: fit_gpu.py RESULT.json... >gpu/fitted_numbers.h
       (of `xgemm bench --kernels all --json FILE`, e.g. suite gpu-kernels)

Writes a line for each kernel, as struct xg_fitted has them, and how well the model then agrees. On
stderr, what picking by the fitted model costs over the rows. gpu/pick_cost.c has the formulas.
"""
import json
import math
import sys

LAUNCH, TILE_SHARE, PARTS_RATE, NOT_HIDDEN = 1e-6, 0.85, 6e12, 0.35
EFFICIENCY, SECOND, FILL, UNALIGNED, ALONG, SUM, WAVE = range(7)
# SECOND is step_ns, or the bandwidth of a kernel that streams; WAVE is the latter's step_ns.


def rows_of(paths):
    """Each row, and of each kernel in it (seconds, the model's inputs)."""
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


def size_of(row):
    return 8 if row["type"] == "f64" else 4


def memory_seconds(row, share, model):
    m, n, k = row["m"], row["n"], row["k"]
    moved = size_of(row) * (m * k + k * n + m * n * (2 if row["beta"] else 1))
    return moved / (share * model["bandwidth"])


def awkwardness(row, x):
    """Rows of results are column-major."""
    vector = 16 // size_of(row)
    unaligned = row["lda"] % vector or row["ldb"] % vector
    along = row["transa"] == "T" and row["transb"] == "N"
    return (x[UNALIGNED] if unaligned else 1) * (x[ALONG] if along else 1)


def overlapped(a, b, power):
    return (a ** power + b ** power) ** (1 / power)


def tile_seconds(row, model, x):
    sms, blocks, fill = model["sms"], model["blocks"], x[FILL] * 1e-6
    one = 2.0 * model["bm"] * model["bn"] * sms / (model["peak"] * x[EFFICIENCY])
    steps = awkwardness(row, x) * math.ceil(row["k"] / model["split"])

    def walk(each):
        return steps * overlapped(x[SECOND] * 1e-9, each * one, 4)

    if model.get("rounds"):
        rounds = model["rounds"]
        arithmetic = fill * (1 + NOT_HIDDEN * max(0, rounds - 1)) + rounds * walk(1)
    else:
        full = math.floor(model["tiles"] / (sms * blocks))
        rest = math.ceil((model["tiles"] - full * sms * blocks) / sms)
        arithmetic = full * (fill + walk(blocks)) + (fill + walk(rest) if rest else 0)
    return max(arithmetic, memory_seconds(row, TILE_SHARE, model))


def stream_seconds(row, model, x):
    longer, shorter = max(row["m"], row["n"]), min(row["m"], row["n"])
    tiles = math.ceil(longer / model["bm"]) * math.ceil(shorter / model["bn"])
    flops = 2.0 * row["k"] * tiles * model["bm"] * model["bn"]
    arithmetic = flops / (x[EFFICIENCY] * model["peak"])
    work = awkwardness(row, x) * overlapped(arithmetic, memory_seconds(row, x[SECOND], model), 3)
    waves = tiles * model["split"] / (model["sms"] * model["blocks"])
    return work + x[FILL] * 1e-6 + x[WAVE] * 1e-9 * max(0, waves - 1)


def seconds_of(row, model, x):
    seconds = LAUNCH + (stream_seconds if model["streams"] else tile_seconds)(row, model, x)
    if model["cuts"]:
        seconds += x[SUM] * 1e-6
    if model["split"] > 1:
        seconds += 2.0 * model["split"] * row["m"] * row["n"] * size_of(row) / PARTS_RATE
    return seconds


def error(samples, x):
    """Mean squared log of predicted / measured; where the kernel is hopeless it counts little, and
    awkward operands are taken to cost nothing unless the samples say so."""
    total = weight = 0.0
    for row, model, seconds, best in samples:
        w = min(1.0, (best / seconds) ** 2)
        total += w * math.log(seconds_of(row, model, x) / seconds) ** 2
        weight += w
    return total / weight + 0.0005 * (math.log(x[UNALIGNED]) ** 2 + math.log(x[ALONG]) ** 2)


def plausible(i, value, streams):
    """Bounds that few samples must not overrun: the model is also asked about other shapes."""
    if i in (UNALIGNED, ALONG):
        return 0.8 <= value <= 3
    return value <= 1 if i == EFFICIENCY else not streams or i != SECOND or value <= 1


def descend(samples, x):
    """Coordinate descent with a shrinking factor: few numbers, no derivative, no library."""
    best, factor = error(samples, x), 1.6
    while factor > 1.004:
        moved = False
        for i in range(len(x)):
            for f in (factor, 1 / factor):
                trial = list(x)
                trial[i] *= f
                if not plausible(i, trial[i], samples[0][1]["streams"]):
                    continue
                e = error(samples, trial)
                if e < best - 1e-9:
                    best, x, moved = e, trial, True
        if not moved:
            factor = math.sqrt(factor)
    return best, x


def fit(samples):
    streams = samples[0][1]["streams"]
    starts = [(0.5, 0.8, 2), (0.1, 0.6, 3)] if streams else [(0.8, 5, 2), (0.6, 20, 4), (0.8, 40, 2)]
    return min(descend(samples, list(start) + [1, 1, 2] + [500] * streams) for start in starts)


def stamp():
    with open(sys.argv[1]) as file:
        data = json.load(file)
    return "%s, %s" % (data["machine"]["gpu"], data["date"])


def judge(rows, fitted):
    lost = []
    for row, times in rows:
        fastest = min(times, key=lambda kernel: times[kernel][0])
        chosen = min(times, key=lambda kernel: seconds_of(row, times[kernel][1], fitted[kernel]))
        lost.append((times[chosen][0] / times[fastest][0], row, chosen, fastest))
    lost.sort(key=lambda x: -x[0])
    within = sum(1 for x in lost if x[0] <= 1.05) / len(lost)
    print("picked by this model: within 5 %% of the best kernel in %.1f %% of %d rows" % (100 * within, len(lost)),
          file=sys.stderr)
    for ratio, row, chosen, fastest in lost[:15]:
        print("  %.2f %s %s %s%s: %s, best %s" % (ratio, row["name"], row["type"], row["transa"], row["transb"],
                                                  chosen, fastest), file=sys.stderr)


def write(fitted, agreement, source):
    print("/* Written by bench/fit_gpu.py; %s.\n"
          " * efficiency, step_ns, fill_us, bandwidth, unaligned, along_k, sum_us; agreement. */\n/* clang-format off */" % source)
    for kernel in sorted(fitted):
        x, streams = fitted[kernel], agreement[kernel][2]
        fields = [x[EFFICIENCY], x[WAVE] if streams else x[SECOND], x[FILL], x[SECOND] if streams else 0]
        fields += x[UNALIGNED:WAVE]
        line = '{"%s", {%s}},' % (kernel, ", ".join("%.3g" % field for field in fields))
        print("%-84s /* +-%.0f %%, %d rows */" % (line, 100 * math.sqrt(agreement[kernel][0]), agreement[kernel][1]))


def main():
    rows = list(rows_of(sys.argv[1:]))
    samples, fitted, agreement = {}, {}, {}
    for row, times in rows:
        fastest = min(seconds for seconds, _ in times.values())
        for kernel, (seconds, model) in times.items():
            samples.setdefault(kernel, []).append((row, model, seconds, fastest))
    for kernel, of_kernel in samples.items():
        e, fitted[kernel] = fit(of_kernel)
        agreement[kernel] = (e, len(of_kernel), of_kernel[0][1]["streams"])
    write(fitted, agreement, stamp())
    judge(rows, fitted)


if __name__ == "__main__":
    main()
