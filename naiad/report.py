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

    def __post_init__(self) -> None:
        for what in ("line_names", "styles"):
            given = getattr(self, what)
            if given is not None and len(given) < len(self.line_vals):
                raise ValueError(
                    f"Benchmark {self.plot_name}: expected one of {what} for each of the {len(self.line_vals)} "
                    f"line_vals, found {len(given)}"
                )


class Mark:
    """A function with its benchmarks."""

    def __init__(self, fn: Callable[..., Any], benchmarks: Benchmark | Sequence[Benchmark]) -> None:
        if not all(isinstance(bench, Benchmark) for bench in _all(benchmarks)):
            raise TypeError(f"perf_report: expected a Benchmark or a list of them, found {benchmarks!r}")
        self.fn = fn
        self.benchmarks = benchmarks

    def run(
        self,
        show_plots: bool = False,
        print_data: bool = False,
        save_path: str = "",
        return_df: bool = False,
        diff_col: bool = False,
        save_precision: int = 6,
        **kwargs: Any,
    ) -> Any:
        """Runs every benchmark. save_path: a folder for csv files and plots. return_df: give the tables (pandas).

        diff_col: one more column with the difference of the lines, where there are one size and two lines.
        save_precision: digits after the point in a csv file. Other keywords go to the function.
        """
        single = isinstance(self.benchmarks, Benchmark)
        tables = []
        for bench in _all(self.benchmarks):
            measured = self._measure(bench, kwargs)
            table = measured.table(bench, diff_col)
            if print_data:
                print(f"{bench.plot_name}:\n{text_of(table)}")
            if save_path:
                _write_csv(Path(save_path, f"{bench.plot_name}.csv"), table, save_precision)
            if save_path or show_plots:
                _plot(bench, measured, save_path, show_plots)
            tables.append(table)
        if save_path:
            _write_html(save_path, [bench.plot_name for bench in _all(self.benchmarks)])
        if not return_df:
            return None
        import pandas

        frames = [pandas.DataFrame(table[1:], columns=table[0]) for table in tables]
        return frames[0] if single else frames

    def _measure(self, bench: Benchmark, keywords: dict[str, Any]) -> "Measured":
        measured = Measured()
        for x in bench.x_vals:
            sizes = list(x) if isinstance(x, tuple | list) else [x] * len(bench.x_names)
            if len(sizes) != len(bench.x_names):
                raise ValueError(f"Expected {len(bench.x_names)} values, got {x}")
            arguments = dict(zip(bench.x_names, sizes, strict=True))
            found = [
                self.fn(**arguments, **{bench.line_arg: line}, **bench.args, **keywords) for line in bench.line_vals
            ]
            measured.sizes.append(sizes)
            measured.values.append([value if isinstance(value, tuple | list) else (value,) for value in found])
        return measured


@dataclass
class Measured:
    """Sizes, and for each the values of every line: one, or three, with the least and the largest beside it."""

    sizes: list[list[Any]] = field(default_factory=list)
    values: list[list[Sequence[Any]]] = field(default_factory=list)

    def table(self, bench: Benchmark, diff: bool) -> list[list[Any]]:
        """Rows: names first, then the sizes and a value of each line."""
        names = [f"{name} ({bench.ylabel})" if bench.ylabel else name for name in bench.line_names]
        rows: list[list[Any]] = [[*bench.x_names, *names]]
        rows += [[*at, *(value[0] for value in values)] for at, values in zip(self.sizes, self.values, strict=True)]
        if diff and len(names) == 2:
            rows = [[*row, row[-1] - row[-2] if i else "Diff"] for i, row in enumerate(rows)]
        return rows

    def line(self, index: int) -> tuple[list[Any], list[Sequence[Any]]]:
        """The first size, and the values of a line."""
        return [at[0] for at in self.sizes], [values[index] for values in self.values]


def _all(benchmarks: Benchmark | Sequence[Benchmark]) -> Sequence[Benchmark]:
    return benchmarks if isinstance(benchmarks, list | tuple) else [benchmarks]  # type: ignore[list-item]


def perf_report(benchmarks: Benchmark | Sequence[Benchmark]) -> Callable[[Callable[..., Any]], Mark]:
    """Marks a function as a benchmark: `fn.run(print_data=True, save_path=...)` then measures it."""
    return lambda fn: Mark(fn, benchmarks)


def text_of(table: list[list[Any]]) -> str:
    """The table in columns."""
    cells = [[f"{cell:.6f}" if isinstance(cell, float) else str(cell) for cell in row] for row in table]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)


def _write_csv(path: Path, table: list[list[Any]], precision: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = [[f"{cell:.{precision}f}" if isinstance(cell, float) else cell for cell in row] for row in table]
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(cells)


def _write_html(folder: str, names: Sequence[str]) -> None:
    """A page with the plots that there are."""
    images = [f'<img src="{name}.png"/>' for name in names if Path(folder, f"{name}.png").exists()]
    Path(folder, "results.html").write_text("\n".join(["<html><body>", *images, "</body></html>", ""]))


def _plot(bench: Benchmark, measured: Measured, save_path: str, show: bool) -> None:
    """A line per provider over the first size. Needs matplotlib (pip install naiad[plot]); without it there is none."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        if show:
            raise
        return
    figure, axes = plt.subplots()
    for i, name in enumerate(bench.line_names):
        colour, style = bench.styles[i] if bench.styles else (None, None)
        sizes, values = measured.line(i)
        axes.plot(sizes, [value[0] for value in values], label=name, color=colour, ls=style)
        if all(len(value) == 3 and None not in value for value in values):
            low, high = ([value[n] for value in values] for n in (1, 2))
            axes.fill_between(sizes, low, high, alpha=0.15, color=colour)
    axes.set(xlabel=bench.xlabel or bench.x_names[0], ylabel=bench.ylabel, title=bench.plot_name)
    axes.set_xscale("log" if bench.x_log else "linear")
    axes.set_yscale("log" if bench.y_log else "linear")
    axes.legend()
    if save_path:
        figure.savefig(Path(save_path, f"{bench.plot_name}.png"))
    if show:
        plt.show()
    plt.close(figure)
