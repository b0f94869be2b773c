"""Rules of the ops with a region: reduce, scan, map_elementwise. The region is called on whole slices, not on numbers.

A reduction combines neighbours pairwise, so a sum of n numbers is off by log2(n) roundings at most; 16-bit floats are
held in 32 bits meanwhile. Where the region asks a number for its value (`if a > b`), it is called number by number.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from naiad.language.builder import Body
from naiad.rounding import to_float
from naiad.runtime.interpreter.errors import NotLiftable, NotOneNumber
from naiad.runtime.interpreter.tiles import Rule, Tile, element_of, shape_of

Tiles = list[Tile]
Combine = Callable[[Tiles, Tiles], Tiles]


def _combiner(body: Body) -> Combine:
    """The region as a function of two lists of tiles of one shape."""

    def combine(left: Tiles, right: Tiles) -> Tiles:
        return [np.broadcast_to(tile, left[0].shape) for tile in body.build([*left, *right])]

    return combine


def _number_by_number(body: Body) -> Combine:
    def combine(left: Tiles, right: Tiles) -> Tiles:
        results = [np.empty(tile.shape, tile.dtype) for tile in left]
        for index in np.ndindex(left[0].shape):
            values = body.build([tile[index] for tile in (*left, *right)])
            for result, value in zip(results, values, strict=True):
                result[index] = value
        return results

    return combine


def _tree(combine: Combine, tiles: Tiles) -> Tiles:
    """All slices along the first axis combined into one, neighbours first."""
    while (size := len(tiles[0])) > 1:
        even = size // 2 * 2
        merged = combine([tile[0:even:2] for tile in tiles], [tile[1:even:2] for tile in tiles])
        tiles = [np.concatenate([m, tile[even:]]) for m, tile in zip(merged, tiles, strict=True)]
    return [tile[0] for tile in tiles]


def _prefixes(combine: Combine, tiles: Tiles) -> Tiles:
    """Each slice combined with all before it: with 1, 2, 4, ... of them at a time."""
    step = 1
    while step < len(tiles[0]):
        merged = combine([tile[:-step] for tile in tiles], [tile[step:] for tile in tiles])
        tiles = [np.concatenate([tile[:step], m]) for m, tile in zip(merged, tiles, strict=True)]
        step *= 2
    return tiles


def _run(builder: Any, body: Body, work: Callable[[Combine, Tiles], Tiles], tiles: Tiles) -> Tiles:
    """The work in 32 bits for 16-bit floats where the region allows it, and number by number where it must be."""
    for combine in (_combiner(body), _number_by_number(body)):
        try:
            with builder.lifting():
                return work(combine, [builder.held(tile) for tile in tiles])
        except NotLiftable:
            return work(combine, tiles)
        except NotOneNumber:
            continue
    raise AssertionError("a single number was not one number")


def _typed(builder: Any, tiles: Tiles, types: Any) -> Any:
    """Tiles rounded to the element types of the result: a handle, or a tuple of them."""
    if not isinstance(types, tuple | list):
        return _typed(builder, tiles, (types,))[0]
    return tuple(
        tile if tile.dtype == element_of(type) else to_float(tile, builder.element(type))
        for tile, type in zip(tiles, types, strict=True)
    )


def reduce(builder: Any, operands: Sequence[Tile], type: Any, body: Body, axis: int) -> Any:
    """The slices along `axis` combined into one, which goes."""
    tiles = [np.moveaxis(tile, axis, 0) for tile in operands]
    return _typed(builder, _run(builder, body, _tree, tiles), type)


def scan(builder: Any, operands: Sequence[Tile], type: Any, body: Body, axis: int, reverse: bool = False) -> Any:
    """Each slice along `axis` combined with those before it, or behind it where `reverse`."""
    tiles = [np.moveaxis(tile, axis, 0) for tile in operands]
    tiles = [tile[::-1] for tile in tiles] if reverse else tiles
    done = _run(builder, body, _prefixes, tiles)
    done = [tile[::-1] for tile in done] if reverse else done
    return _typed(builder, [np.moveaxis(tile, 0, axis) for tile in done], type)


def map_elementwise(builder: Any, operands: Sequence[Tile], type: list[Any], body: Body, pack: int = 1) -> Any:
    """The region on `pack` neighbours of every operand at once: all of the first operand, then all of the second."""
    lanes = [part for tile in operands for part in np.moveaxis(np.reshape(tile, (-1, pack)), -1, 0)]

    def whole(combine: Any, tiles: Tiles) -> Tiles:
        return [np.broadcast_to(value, tiles[0].shape) for value in body.build(tiles)]

    def single(combine: Any, tiles: Tiles) -> Tiles:
        rows = [body.build([tile[i] for tile in tiles]) for i in range(len(tiles[0]))]
        return [np.array(column) for column in zip(*rows, strict=True)]

    try:
        values = whole(None, lanes)
    except NotOneNumber:
        values = single(None, lanes)
    packed = [np.stack(values[i : i + pack], axis=-1) for i in range(0, len(values), pack)]
    del type[len(packed) :]  # the region adds its types each time it is called
    return tuple(tile.reshape(shape_of(t)) for tile, t in zip(packed, type, strict=True))


RULES: dict[str, Rule] = {"tt.reduce": reduce, "tt.scan": scan, "tt.map_elementwise": map_elementwise}
