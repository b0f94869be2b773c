"""perf_report: a benchmark over a range of sizes and several providers, as a table, csv, and plot."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Benchmark:
    """What `perf_report` runs: the function gets one of `x_vals` under each of `x_names`, one of `line_vals` under
    `line_arg`, and `args`. `styles` are (colour, line style) of matplotlib."""

    x_names: Sequence[str]
    x_vals: Sequence[Any]
    line_arg: str
    line_vals: Sequence[Any]
    line_names: Sequence[str]
    plot_name: str
    args: dict[str, Any] = field(default_factory=dict)
    xlabel: str = ""
    ylabel: str = ""
    x_log: bool = False
    y_log: bool = False
    styles: Sequence[tuple[str, str]] | None = None


class Mark:
    """A function with its benchmarks."""

    def __init__(self, fn: Callable[..., Any], benchmarks: Benchmark | Sequence[Benchmark]) -> None:
        self.fn = fn
        self.benchmarks = benchmarks

    def run(
        self,
        show_plots: bool = False,
        print_data: bool = False,
        save_path: str = "",
        return_df: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Runs every benchmark. save_path: a folder for csv files and plots. return_df: give the tables (pandas)."""
        single = isinstance(self.benchmarks, Benchmark)
        tables = []
        for bench in _all(self.benchmarks):
            table = self._table(bench, kwargs)
            if print_data:
                print(f"{bench.plot_name}:\n{text_of(table)}")
            if save_path:
                _write_csv(Path(save_path, f"{bench.plot_name}.csv"), table)
            if save_path or show_plots:
                _plot(bench, table, save_path, show_plots)
            tables.append(table)
        if not return_df:
            return None
        import pandas

        frames = [pandas.DataFrame(table[1:], columns=table[0]) for table in tables]
        return frames[0] if single else frames

    def _table(self, bench: Benchmark, keywords: dict[str, Any]) -> list[list[Any]]:
        """Rows: names first, then the sizes and a value of each line."""
        names = [f"{name} ({bench.ylabel})" if bench.ylabel else name for name in bench.line_names]
        rows: list[list[Any]] = [[*bench.x_names, *names]]
        for x in bench.x_vals:
            sizes = list(x) if isinstance(x, tuple | list) else [x] * len(bench.x_names)
            arguments = dict(zip(bench.x_names, sizes, strict=True))
            values = [
                self.fn(**arguments, **{bench.line_arg: line}, **bench.args, **keywords) for line in bench.line_vals
            ]
            rows.append([*sizes, *(value[0] if isinstance(value, tuple) else value for value in values)])
        return rows


def _all(benchmarks: Benchmark | Sequence[Benchmark]) -> Sequence[Benchmark]:
    return [benchmarks] if isinstance(benchmarks, Benchmark) else benchmarks


def perf_report(benchmarks: Benchmark | Sequence[Benchmark]) -> Callable[[Callable[..., Any]], Mark]:
    """Marks a function as a benchmark: `fn.run(print_data=True, save_path=...)` then measures it."""
    return lambda fn: Mark(fn, benchmarks)


def text_of(table: list[list[Any]]) -> str:
    """The table in columns."""
    cells = [[f"{cell:.6f}" if isinstance(cell, float) else str(cell) for cell in row] for row in table]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)


def _write_csv(path: Path, table: list[list[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(table)


def _plot(bench: Benchmark, table: list[list[Any]], save_path: str, show: bool) -> None:
    """A line per provider over the first size. Needs matplotlib (pip install naiad[plot]); without it there is none."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        if show:
            raise
        return
    figure, axes = plt.subplots()
    first = len(bench.x_names)
    for i, name in enumerate(bench.line_names):
        colour, style = bench.styles[i] if bench.styles else (None, None)
        axes.plot(
            [row[0] for row in table[1:]], [row[first + i] for row in table[1:]], label=name, color=colour, ls=style
        )
    axes.set(xlabel=bench.xlabel or bench.x_names[0], ylabel=bench.ylabel, title=bench.plot_name)
    axes.set_xscale("log" if bench.x_log else "linear")
    axes.set_yscale("log" if bench.y_log else "linear")
    axes.legend()
    if save_path:
        figure.savefig(Path(save_path, f"{bench.plot_name}.png"))
    if show:
        plt.show()
    plt.close(figure)
