"""Textures of a target: their meaning, and one clear message for invalid ones."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gi_cuda.errors import UserError
from gi_cuda.spec import (
    Launch,
    LaunchError,
    Target,
    Texture,
    View,
    buffer_sizes,
    defaults,
    load_case,
    load_target,
    plan,
)

from .conftest import DATA, Write

TEXTURE = '[[texture]]\nname = "tex"\nbuffer = "table"\n'
ARGS = 'args = ["a", "n", "gain"]'


def textured(write: Write, more: str = "", table: str = "np.ones(4, np.float32)") -> Target:
    """The target with a texture over its table, of which ``more`` is said."""
    return load_target(
        write(
            ('symbol = "c_table"\n', f"\n{TEXTURE}{more}\n"),
            (ARGS, 'args = ["a", "n", "gain", "tex"]'),
            data=DATA.replace("np.ones(4, np.float32)", table),
        )
    )


def test_a_texture_is_as_its_buffer_if_nothing_else_is_said(write: Write) -> None:
    target = textured(write)
    (texture,) = target.textures
    assert texture == Texture("tex", "table", np.dtype("float32"), line=texture.line)
    assert target.file.read_text().splitlines()[texture.line - 1] == "[[texture]]"
    case = load_case(target, target.cases[0])
    last: Launch = plan(target, defaults(target), case.scalars)[-1]
    assert last.args[-1] == View(texture, "table")
    assert "tex" not in case.values


@pytest.mark.parametrize(
    ("more", "dtype", "components", "normalized"),
    [
        ("components = 2", "float32", 2, False),
        ('type = "uint32"\ncomponents = 4\nread = "element"', "uint32", 4, False),
        ('type = "uint8"\nread = "normalized_float"', "uint8", 1, True),
        ('type = "int16"\ncomponents = 2\nread = "normalized_float"', "int16", 2, True),
        ('type = "float16"\ncomponents = 4', "float16", 4, False),
    ],
)
def test_texels_of_another_type_than_the_buffers(
    more: str, dtype: str, components: int, normalized: bool, write: Write
) -> None:
    target = textured(write, more)
    (texture,) = target.textures
    assert texture.dtype == np.dtype(dtype)
    assert (texture.components, texture.as_float) == (components, normalized)
    assert texture.texel_bytes == np.dtype(dtype).itemsize * components
    load_case(target, target.cases[0])


def test_halves_of_wide_numbers(write: Write) -> None:
    folder = write(
        ('name = "table"\ntype = "float32"', 'name = "table"\ntype = "float64"'),
        ('symbol = "c_table"\n', f'\n{TEXTURE}type = "int32"\ncomponents = 2\n'),
        (ARGS, 'args = ["a", "n", "gain", "tex"]'),
        data=DATA.replace("np.ones(4, np.float32)", "np.ones(3)"),
    )
    target = load_target(folder)
    assert (target.textures[0].texel_bytes, target.textures[0].components) == (8, 2)
    load_case(target, target.cases[0])


MISTAKES = {
    # what the texture's table says, the line and key, what the message says
    "no such buffer": ('name = "t"\nbuffer = "tabel"', 2, "buffer", "Did you mean table"),
    "no buffer": ('name = "t"', 0, "buffer", "the key is missing"),
    "not an input": ('name = "t"\nbuffer = "a"', 2, "buffer", "has the role 'inout'"),
    "a scratch buffer": ('name = "t"\nbuffer = "b"', 2, "buffer", "has the role 'scratch'"),
    "64 bits": (
        'name = "t"\nbuffer = "table"\ntype = "float64"',
        3,
        "type",
        "cannot hold float64",
    ),
    "a struct": (
        'name = "t"\nbuffer = "table"\ntype = "node"',
        3,
        "type",
        "there is no type 'node'",
    ),
    "a vector": (
        'name = "t"\nbuffer = "table"\ntype = "uchar4"',
        3,
        "type",
        'type = "uint8" and components = 4',
    ),
    "three components": (
        'name = "t"\nbuffer = "table"\ncomponents = 3',
        3,
        "components",
        "no texels of 3 components",
    ),
    "how it is read": (
        'name = "t"\nbuffer = "table"\nread = "float"',
        3,
        "read",
        "'element' or 'normalized_float'",
    ),
    "normalized floats": (
        'name = "t"\nbuffer = "table"\nread = "normalized_float"',
        3,
        "read",
        "no texture reads float32 as normalized floats",
    ),
    "normalized words": (
        'name = "t"\ntype = "uint32"\nbuffer = "table"\nread = "normalized_float"',
        4,
        "read",
        "Only integers of 8 and 16 bits",
    ),
    "a filter of linear memory": (
        'name = "t"\nbuffer = "table"\nfilter = "linear"',
        3,
        "filter",
        "has no `filter`",
    ),
    "a filter of integers": (
        'name = "t"\nbuffer = "table"\ntype = "int32"\nsize = "n"\nfilter = "linear"',
        5,
        "filter",
        "nothing between two texels of int32",
    ),
    "an address mode": (
        'name = "t"\nbuffer = "table"\nsize = "n"\naddress = "repeat"',
        4,
        "address[0]",
        "'wrap', 'clamp', 'mirror' or 'border'",
    ),
    "more address modes than dimensions": (
        'name = "t"\nbuffer = "table"\nsize = "n"\naddress = ["wrap", "clamp"]',
        4,
        "address",
        "2 address modes for 1 dimensions",
    ),
    "layers of three dimensions": (
        'name = "t"\nbuffer = "table"\nsize = ["n", "n", "n"]\nlayers = 2',
        4,
        "layers",
        "no layers of three dimensions",
    ),
    "a size of parameters": (
        'name = "t"\nbuffer = "table"\nsize = "CACHE"',
        3,
        "size",
        "cannot be used here",
    ),
    "the name of a buffer": ('name = "a"\nbuffer = "table"', 1, "name", "the name 'a' is taken"),
    "the name of a parameter": ('name = "CACHE"\nbuffer = "table"', 1, "name", "is taken"),
    "unknown key": ('name = "t"\nbuffer = "table"\nformat = 3', 3, "format", "no such key"),
    "not used": ('name = "t"\nbuffer = "table"', 0, "", "no launch uses the texture 't'"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told_with_line_and_key(mistake: str, write: Write) -> None:
    table, line, key, message = MISTAKES[mistake]
    folder = write(
        ('symbol = "c_table"\n', f"\n[[texture]]\n{table}\n"),
        (ARGS, 'args = ["a", "n", "gain", "table"]'),
    )
    lines = (folder / "target.toml").read_text().splitlines()
    number = lines.index("[[texture]]") + 1 + line
    with pytest.raises(UserError) as caught:
        load_target(folder)
    assert caught.value.where == f"{folder / 'target.toml'}:{number}: texture[0]" + (
        f".{key}" if key else ""
    )
    assert message in str(caught.value)
    assert caught.value.hint or "missing" in message or "should" in caught.value.what


def test_a_variable_of_the_source_cannot_be_a_texture(write: Write) -> None:
    with pytest.raises(UserError, match=r"'table' is the variable c_table.*\n.*`symbol`") as caught:
        load_target(write(("[[launch]]", f"{TEXTURE}\n[[launch]]"), (ARGS, ARGS[:-1] + ', "tex"]')))
    assert str(caught.value.where).endswith("texture[0].buffer")


def test_a_texture_is_no_number(write: Write) -> None:
    with pytest.raises(UserError, match="'tex' is a texture and cannot be used here"):
        load_target(
            write(
                ('symbol = "c_table"\n', f"\n{TEXTURE}\n"),
                ('size = "n"', 'size = "tex"'),
                (ARGS, 'args = ["a", "n", "gain", "tex"]'),
            )
        )


def test_what_a_texture_reads_is_not_swapped(write: Write) -> None:
    with pytest.raises(UserError, match="the buffer 'table' cannot be swapped"):
        load_target(
            write(
                ('symbol = "c_table"\n', f"\n{TEXTURE}\n"),
                ('swap = [["a", "b"]]', 'swap = [["a", "table"]]'),
                (ARGS, 'args = ["a", "n", "gain", "tex"]'),
            )
        )


def test_the_last_texel_is_whole(write: Write) -> None:
    target = textured(write, "components = 4", table="np.ones(6, np.float32)")
    with pytest.raises(UserError, match=r"'table' has 24 bytes.*'tex'\s+texels of 16.*\n.*pad"):
        load_case(target, target.cases[0])


SURFACE = '[[surface]]\nname = "surf"\nbuffer = "{}"\nsize = {}\n'


def surfaced(write: Write, buffer: str, size: str, *, arguments: str = '"n", "gain"') -> Target:
    """The target with a surface in place of its last launch's first argument."""
    return load_target(
        write(
            ("[[launch]]", f"{SURFACE.format(buffer, size)}\n[[launch]]"),
            (ARGS, f'args = ["surf", {arguments}]'),
        )
    )


def test_a_texture_and_its_size_in_a_case(write: Write) -> None:
    target = textured(write, 'size = ["2", "n / n"]\nlayers = 2\naddress = ["wrap", "border"]')
    case = load_case(target, target.cases[0])
    launch = plan(target, defaults(target), case.scalars)[-1]
    (view,) = launch.views
    assert (view.extent, view.layers, view.bytes) == ((2, 1), 2, 16)
    assert buffer_sizes(target, defaults(target), case)["table"] == 4


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ('"n - n"', "'tex' has 0 texels"),
        ('["4", "2"]', "'tex' has texels of 32 bytes in all, and the buffer 'table' 16 bytes"),
    ],
)
def test_a_texture_fits_into_its_buffer(size: str, message: str, write: Write) -> None:
    target = textured(write, f"size = {size}")
    case = load_case(target, target.cases[0])
    with pytest.raises(LaunchError, match=re.escape(message)):
        buffer_sizes(target, defaults(target), case)


@pytest.mark.parametrize(
    ("buffer", "message"),
    [
        ("table", "'table' is the variable c_table"),
        ("a", "'a' is an argument itself"),
        ("nothing", "there is no buffer 'nothing'"),
    ],
)
def test_what_no_surface_can_be(buffer: str, message: str, write: Write) -> None:
    with pytest.raises(UserError, match=message) as caught:
        surfaced(write, buffer, '"n"')
    assert str(caught.value.where).endswith("surface[0].buffer")
