"""Tables, fits, prices and the drawing of docs/scale.md: `python -m benchmarks.scale_figures scale.json`.

Reads what `benchmarks.scale --out` wrote. A fit is a straight line through the logarithms (`a n^b`) or, for
what is stored, through the figures themselves (`a + b n`), over the sizes that have an approximate index:
smaller ones are searched in another way. Times are fitted by the processor's, since those of the clock
follow what else the machine does. What a fit says of sizes that were not measured is computed.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adaptive_rag.index import neighbours

Results = Mapping[int, Mapping[str, Any]]
EXACT_UP_TO = neighbours.EXACT_UP_TO
COMPUTED = (10_000_000, 100_000_000)
# List prices in US dollars of Amazon, region us-east-1, looked up in November 2026.
STORED_GB_MONTH = 0.023  # S3 Standard, the first 50 TB
READS_1000 = 0.0004  # GET requests
WRITES_1000 = 0.005  # PUT requests
DISK_GB_MONTH = 0.08  # EBS gp3
# m7g: a large has 8 GiB for 0.0816 an hour, and each size twice that of the one before, up to 256 GiB.
SMALLEST_GIB, LARGEST_GIB, SMALLEST_HOUR = 8, 256, 0.0816
HOURS_MONTH = 730
REQUESTS = ("requests_cold", "requests_per_question")
WAYS = {
    "direct": "directly",
    "copying": "while it is copied",
    "copied": "with a copy",
    "far": "far, directly",
    "far_copied": "far, with a copy",
}
SIDES = {"index": "Adaptive RAG", "lancedb": "LanceDB's hybrid", "langchain": "LangChain's hybrid"}
# Of a machine's memory, what the system and the pages of files that it reads again need.
MEMORY_SHARE = 0.5
DRAWN = {
    "milliseconds of the processor": {
        "fused search": ("index.cpu", "tab:blue", "o-"),
        "where one in a hundred is kept": ("filtered.filters.page = 7.cpu", "tab:cyan", "v-"),
        "whole question": ("index.whole.cpu", "tab:green", "^-"),
        "bucket, directly": ("bucket.direct.cpu", "tab:red", "v-"),
        "bucket, with copies": ("bucket.copied.cpu", "tab:purple", "D-"),
        "LanceDB's hybrid": ("lancedb.cpu", "tab:brown", "P-"),
        "LangChain's hybrid": ("langchain.cpu", "tab:orange", "s-"),
    },
    "gigabytes": {
        "disk": ("disk.all", "tab:gray", "o-"),
        "memory, fused search": ("index.resident_gb", "tab:blue", "s-"),
        "memory, with a filter": ("filtered.resident_gb", "tab:cyan", "^-"),
        "memory, LangChain's hybrid": ("langchain.resident_gb", "tab:orange", "s-"),
    },
}


class Fit(NamedTuple):
    """A formula for a figure over the number of chunks."""

    text: str
    at: Callable[[float], float]


def power_law(sizes: Sequence[int], values: Sequence[float]) -> Fit:
    """Fit `a n^b` by least squares of the logarithms."""
    b, log_a = np.polyfit(np.log(sizes), np.log(values), 1)
    a = float(np.exp(log_a))
    return Fit(f"{a:.3g} n^{b:.2f}", lambda n: a * n**b)


def straight_line(sizes: Sequence[int], values: Sequence[float]) -> Fit:
    """Fit `a + b n` by least squares of the relative errors, so that small sizes count as large ones do."""
    b, a = np.polyfit(sizes, values, 1, w=1 / np.asarray(values))
    return Fit(f"{a:.3g} + {b:.3g} n", lambda n: float(a + b * n))


def of(found: Mapping[str, Any], path: str) -> float | None:
    """Return a figure by its path, such as "index.p50"; None where it was not measured."""
    here: Any = found
    for name in path.split("."):
        if name == "all":
            here = sum(here.values())
        elif not isinstance(here, Mapping) or name not in here:
            return None
        else:
            here = here[name]
    return None if here is None else float(here)


def measured(results: Results, path: str, above: int = 0) -> tuple[list[int], list[float]]:
    """Return the sizes above some size at which a figure was measured, and the figure at each."""
    each = ((size, of(results[size], path)) for size in sorted(results) if size > above)
    pairs = [(size, value) for size, value in each if value is not None]
    return [size for size, _ in pairs], [value for _, value in pairs]


def price_table(results: Results) -> list[str]:
    """Return what a month costs, computed from the fits and the list prices."""
    disk = straight_line(*measured(results, "disk.all", EXACT_UP_TO))
    memory = straight_line(*measured(results, "index.whole_gb", EXACT_UP_TO))
    _, requests = measured(results, "bucket.far.requests_per_question")
    lines = [
        "| chunks, computed | bucket | machine | copies on its disk | a million questions read directly |",
        "|--:|--:|--:|--:|--:|",
    ]
    for size in COMPUTED:
        stored = disk.at(size)
        machines, gib, hour = machine_for(memory.at(size))
        direct = max(requests) * 1e6 / 1000 * READS_1000 if requests else math.nan
        lines.append(
            f"| {size:,} | {stored:,.0f} GB, ${stored * STORED_GB_MONTH:,.0f} | "
            f"{machines} of {gib} GiB, ${machines * hour * HOURS_MONTH:,.0f} | "
            f"${stored * DISK_GB_MONTH:,.0f} | ${direct:,.0f} |"
        )
    return lines


def machine_for(resident_gb: float) -> tuple[int, int, float]:
    """Return how many machines hold so much in memory, the GiB of each, and the price of each an hour."""
    wanted, gib = resident_gb / MEMORY_SHARE, SMALLEST_GIB
    while gib < wanted and gib < LARGEST_GIB:
        gib *= 2
    return max(1, math.ceil(wanted / gib)), gib, SMALLEST_HOUR * gib / SMALLEST_GIB


def tables(results: Results) -> list[str]:
    """Return the tables of the page: what was measured, fits, and what they say of larger sizes."""
    sizes = sorted(results)
    rows = {
        "made, minutes": ("made.all", 1 / 60, power_law),
        "disk, GB": ("disk.all", 1, straight_line),
        "memory of fused search, GB": ("index.resident_gb", 1, straight_line),
        "memory of whole questions, GB": ("index.whole_gb", 1, straight_line),
        "memory with a filter, GB": ("filtered.resident_gb", 1, straight_line),
        "opened and first answer, ms": ("index.cold_ms", 1, None),
        "by vector, p50 ms": ("index.vector.p50", 1, None),
        "by vector, p95 ms": ("index.vector.p95", 1, None),
        "by vector, processor ms": ("index.vector.cpu", 1, power_law),
        "by words, p50 ms": ("index.words.p50", 1, None),
        "by words, p95 ms": ("index.words.p95", 1, None),
        "by words, processor ms": ("index.words.cpu", 1, power_law),
        "fused search, p50 ms": ("index.p50", 1, None),
        "fused search, p95 ms": ("index.p95", 1, None),
        "fused search, processor ms": ("index.cpu", 1, power_law),
        "whole question, p50 ms": ("index.whole.p50", 1, None),
        "whole question, p95 ms": ("index.whole.p95", 1, None),
        "whole question, processor ms": ("index.whole.cpu", 1, power_law),
        "recall@10": ("index.recall", 1, None),
    }
    computed = " | ".join(f"{size:,}, computed" for size in COMPUTED)
    lines = [
        f"| | {' | '.join(f'{size:,}' for size in sizes)} | fit | {computed} |",
        "|---|" + "--:|" * (len(sizes) + 1 + len(COMPUTED)),
    ]
    for name, (path, factor, kind) in rows.items():
        each = [of(results[size], path) for size in sizes]
        shown = ["" if value is None else _short(factor * value) for value in each]
        at, values = measured(results, path, EXACT_UP_TO)
        fit = kind(at, [factor * value for value in values]) if kind and len(at) > 1 else None
        beyond = [_short(fit.at(size)) if fit else "" for size in COMPUTED]
        lines.append(f"| {name} | {' | '.join([*shown, fit.text if fit else '', *beyond])} |")
    return lines


def beside_tables(results: Results) -> dict[str, list[str]]:
    """Return the tables of what was measured beside: filters, additions, a bucket, other systems."""
    filters, bucket, added, others = [], [], [], []
    for size, found in sorted(results.items()):
        for condition, one in found.get("filtered", {}).get("filters", {}).items():
            row = [f"{size:,}", f"`{condition}`, {one['share']:.0%}", f"{one['ratio']:.2f}"]
            row += [f"{one['ratio_p95']:.2f}", f"{one['ratio_cpu']:.2f}" if "ratio_cpu" in one else ""]
            filters.append([*row, f"{one['first_ms']:,.0f}", f"{one['recall']:.3f}"])
        for way, one in found.get("bucket", {}).items():
            times = [f"{one[name]:,.0f}" for name in ("cold_ms", "p50", "p95", "cpu")]
            asked = [f"{one[name]:,.0f}" if name in one else "" for name in REQUESTS]
            bucket.append([f"{size:,}", WAYS[way], *times, *asked])
        if one := found.get("add"):
            cpu = f"{one['processor_s']:.1f}" if "processor_s" in one else ""
            added.append([f"{size:,}", f"{one['found_s']:.1f}", f"{one['write_s']:.1f}", cpu])
        for side in ("index", "lancedb", "langchain") if "lancedb" in found else ():
            one = found["beside" if side == "index" and "beside" in found else side]
            times = [f"{one[name]:,.0f}" for name in ("p50", "p95", "cpu")]
            asked_of_all = one["ndcg"][: len(found["lancedb"]["ndcg"])]
            row = [
                f"{size:,}",
                SIDES[side],
                *times,
                f"{one['resident_gb']:.2f}",
                f"{np.mean(asked_of_all):.3f}",
            ]
            others.append([*row, f"{one['recall']:.3f}" if "recall" in one else "exact"])
    return {
        "chunks | kept | p50 | p95 | processor | first, ms | recall@10": filters,
        "chunks | found after, s | written in, s | processor, s": added,
        "chunks | | p50 | p95 | processor | memory, GB | nDCG@10 | recall@10 by vector": others,
        "chunks | | first | p50 | p95 | processor | requests at first | a question": bucket,
    }


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def draw(results: Results, path: Path) -> None:
    """Draw times and sizes over the number of chunks; what is computed is dotted."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for axes, (unit, curves) in zip(panels, DRAWN.items(), strict=True):
        for label, (path_of, colour, style) in curves.items():
            sizes, values = measured(results, path_of)
            if not sizes:
                continue
            axes.plot(sizes, values, style, color=colour, label=label, markersize=4)
            at, fitted = measured(results, path_of, EXACT_UP_TO)
            if len(at) > 1 and (unit == "gigabytes" or path_of.endswith("cpu")):
                fit = (straight_line if unit == "gigabytes" else power_law)(at, fitted)
                beyond = np.geomspace(at[-1], COMPUTED[0], 20)
                axes.plot(beyond, [fit.at(n) for n in beyond], ":", color=colour, linewidth=1)
        axes.set(xscale="log", yscale="log", xlabel="chunks", ylabel=unit)
        axes.grid(alpha=0.3, which="major")
        axes.legend(loc="best", fontsize=7)
    panels[0].set_title("Time, and as computed (dotted)")
    panels[1].set_title("Disk and memory, and as computed (dotted)")
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def read_results(file: Path) -> Results:
    """Return the figures by size."""
    return {int(size): found for size, found in json.loads(file.read_text()).items()}


def main() -> None:
    """Print the tables, and draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("results", type=Path, help="what `benchmarks.scale --out` wrote")
    parser.add_argument("--plot", type=Path, help="draw to this file")
    asked = parser.parse_args()
    results = read_results(asked.results)
    print("\n".join(tables(results)))
    for head, rows in beside_tables(results).items():
        print(f"\n| {head} |\n" + "|--:" * len(head.split("|")) + "|")
        print("\n".join(f"| {' | '.join(row)} |" for row in rows))
    print("\n" + "\n".join(price_table(results)))
    if asked.plot:
        draw(results, asked.plot)


if __name__ == "__main__":
    main()
