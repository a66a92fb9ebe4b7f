"""Read the setup of textures and surfaces in host code: texel types, sizes, address modes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gi_cuda.grammar.frontends.cuda.declarations.element_types import Element, ElementTypes
from gi_cuda.init.proposing.buffers import ProposedBuffer

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_CREATED = re.compile(
    r"\b(?:cudaCreate(?:Texture|Surface)Object|cu(?:Tex|Surf)ObjectCreate)\s*\("
    r"\s*&?(?P<object>[^,;()]*),\s*&?\s*(?P<resource>\w+)\s*(?:,\s*&?\s*(?P<reading>\w+)\s*)?[,)]"
)
_ALLOCATED = r"\b(?:cudaMallocArray|cudaMalloc3DArray)\s*\(\s*&?\s*{array}\s*,\s*&?(?P<rest>[^;]*);"
_CHANNEL = re.compile(
    r"\bcudaCreateChannelDesc\s*(?:<\s*(?P<type>[\w\s:]+?)\s*>\s*\(|\(\s*(?P<bits>\d+(?:\s*,\s*\d+){3})"
    r"\s*,\s*cudaChannelFormatKind(?P<kind>\w+))"
)
_KINDS = {"Signed": "int", "Unsigned": "uint", "Float": "float"}
_MODES = {"Wrap": "wrap", "Clamp": "clamp", "Mirror": "mirror", "Border": "border"}
_MODES |= {name.upper(): mode for name, mode in _MODES.items()}
_MODE = re.compile(r"(?:cudaAddressMode|CU_TR_ADDRESS_MODE_)(\w+)")
_EXTENT = re.compile(r"\bmake_cudaExtent\s*\(([^;]*)\)")
_AXES = (
    re.compile(r"(?i).*(?:width|wid|cols?|columns?|[dn]imx|size_?x|nx|[^a-z]x|[a-z]*w)|x"),
    re.compile(r"(?i).*(?:height|hei|rows?|[dn]imy|size_?y|ny|[^a-z]y|[a-z]*h)|y"),
    re.compile(r"(?i).*(?:depth|slices?|[dn]imz|size_?z|nz|[^a-z]z|d)|z"),
)
_ASSUMED = ((), (4096,), (64, 64), (32, 32, 32))
"""Assumed texels of each dimension, by the number of dimensions."""
_LAYERS = "4"
_MOST = 4096
"""Largest number in host code that is taken for a size in texels."""
_WIDEST_AS_FLOAT = 2


def set_up(
    buffer: ProposedBuffer, texts: Sequence[str], passed: str, types: ElementTypes
) -> ProposedBuffer:
    """Return the buffer of a texture or surface, completed from its setup in host code.

    Args:
        texts: texts of files with host code.
        passed: the host code's expression for the object; "" if unknown.
    """
    image, name = buffer.image, buffer.texture
    assert image is not None
    found = _created(texts, [passed, name or ""], surface=image.surface)
    if found is None:
        return buffer
    element = buffer.element
    channel = found.channel(types)
    as_float = "NormalizedFloat" in found.field("readMode") and element.floating
    if as_float and channel is None:
        channel = Element("uint8", element.parts)
    if as_float and channel is not None:
        as_float = not channel.floating and channel.bytes <= _WIDEST_AS_FLOAT * channel.parts
    if channel is not None and (as_float or (channel.floating and channel.type == "float16")):
        element = channel
    linear = "linear" in found.field("filterMode").lower() and (as_float or element.floating)
    if image.dimensions:
        image = replace(
            image,
            size=tuple(found.sizes()),
            filter="linear" if linear and not image.surface else "point",
            address=found.address(image.dimensions),
            normalized=found.normalized,
        )
    note = "" if image.surface else "as host code sets it up"
    return replace(buffer, element=element, image=replace(image, as_float=as_float, note=note))


def shaped(
    buffer: ProposedBuffer, counts: Sequence[str], passed: Mapping[str, str]
) -> ProposedBuffer:
    """Return the buffer of a texture or surface with its size, from host code or guessed by names.

    Args:
        counts: scalars that say how much data there is.
        passed: the host code's expression for each of them.
    """
    image = buffer.image
    if image is None or not image.dimensions:
        return buffer
    known = {text: name for name, text in passed.items() if name in counts}
    said = [_known(text, known, counts) for text in image.size]
    whole = image.dimensions + image.layered
    if len(said) == whole and None not in said:
        size = [text for text in said if text is not None]
    else:
        size = _by_names(counts, image.dimensions)
        if image.layered:
            size.append(next((one for one in counts if one not in size), _LAYERS))
    layers = size.pop() if image.layered else None
    elements = " * ".join([*size, *([layers] if layers else [])])
    image = replace(image, size=tuple(size), layers=layers)
    return replace(buffer, image=image, elements=elements)


def _known(text: str, known: Mapping[str, str], counts: Sequence[str]) -> str | None:
    text = text.strip()
    if text in known or text in counts:
        return known.get(text, text)
    return text if text.isdigit() and 0 < int(text) <= _MOST else None


def _by_names(counts: Sequence[str], dimensions: int) -> list[str]:
    """Return the count for each dimension: by its name, otherwise in order."""
    if len(counts) < dimensions:
        return [*map(str, _ASSUMED[dimensions])]
    found: dict[int, str] = {}
    for axis in range(dimensions):
        fitting = [c for c in counts if _AXES[axis].fullmatch(c) and c not in found.values()]
        if fitting:
            found[axis] = fitting[0]
    rest = iter([name for name in counts if name not in found.values()])
    return [found.get(axis) or next(rest) for axis in range(dimensions)]


@dataclass(frozen=True, slots=True)
class _Setup:
    """The creation of a texture or surface object.

    Attributes:
        before: the text of the file before it.
        whole: the text of the file.
        resource: the variable of the resource description.
        reading: the variable of the texture description; "" if there is none.
    """

    before: str
    whole: str
    resource: str
    reading: str

    def field(self, name: str) -> str:
        """Return the last value of a field of the texture's description; "" if it is not set."""
        return self._last(self.reading, name) if self.reading else ""

    @property
    def normalized(self) -> bool:
        """Tell whether coordinates go from 0 to 1."""
        set_to = self.field("normalizedCoords").strip()
        return set_to in ("1", "true") or "NORMALIZED_COORDINATES" in self.field("flags")

    def address(self, dimensions: int) -> tuple[str, ...]:
        """Return the address mode of each dimension; a single one if all are equal."""
        modes = []
        for axis in range(dimensions):
            found = _MODE.search(self._last(self.reading, rf"addressMode\s*\[\s*{axis}\s*\]"))
            # The default of a zeroed description is cudaAddressModeWrap.
            modes.append(_MODES.get(found[1], "clamp") if found else "wrap")
        return (modes[0],) if len(set(modes)) == 1 else tuple(modes)

    def channel(self, types: ElementTypes) -> Element | None:
        """Return the type of a texel; None if unknown."""
        texts = [self._last(self.resource, r"res\s*\.\s*\w+\s*\.\s*desc")]
        named = self._allocated().partition(",")[0].strip()
        if re.fullmatch(r"\w+", named):
            texts += re.findall(rf"\b{named}\s*=\s*([^;]*);", self.whole)
        found = [one for text in texts for one in _CHANNEL.finditer(text)]
        if not found:
            found = [*_CHANNEL.finditer(self.whole)]
        elements = {element for one in found if (element := _channel(one, types)) is not None}
        return elements.pop() if len(elements) == 1 else None

    def sizes(self) -> Iterator[str]:
        """Yield the host code's expressions for the texels of each dimension."""
        for name in ("width", "height"):
            if text := self._last(self.resource, rf"res\s*\.\s*pitch2D\s*\.\s*{name}"):
                yield text
        arguments = self._allocated().partition(",")[2].rpartition(")")[0]
        extent = _EXTENT.search(arguments)
        for text in (extent[1] if extent else arguments).split(",")[:3]:
            text = text.strip(" )\n")
            if text and "cudaArray" not in text and text != "0":
                yield text

    def _allocated(self) -> str:
        """Return the arguments of the ``cudaMallocArray`` call of the resource's array, without the
        array itself: ``&desc, width, height``; "" if there is no such call."""
        array = self._last(self.resource, r"res\s*\.\s*array\s*\.\s*(?:array|hArray)").strip()
        if not array:
            return ""
        found = [*re.finditer(_ALLOCATED.format(array=re.escape(array)), self.whole)]
        return found[0]["rest"] if found else ""

    def _last(self, struct: str, member: str) -> str:
        """Return the last value before the creation that a member of a struct is set to; "" if
        none.
        """
        wanted = rf"\b{re.escape(struct)}\s*(?:\.|->)\s*{member}\s*=(?!=)\s*([^;]*);"
        found = re.findall(wanted, self.before)
        return str(found[-1]).rpartition("=")[2] if found else ""


def _created(texts: Sequence[str], names: Sequence[str], *, surface: bool) -> _Setup | None:
    """Find the creation of an object: by the first name that matches, else the only one."""
    found: list[tuple[str, _Setup]] = []
    for text in dict.fromkeys(texts):
        whole = _COMMENT.sub(" ", text)
        for one in _CREATED.finditer(whole):
            if ("Surf" in one[0].partition("(")[0]) == surface:
                before = whole[: one.start()]
                setup = _Setup(before, whole, one["resource"], one["reading"] or "")
                found.append((one["object"].strip(), setup))
    for name in names:
        for made, setup in found:
            if name and made == name:
                return setup
    return found[0][1] if len(found) == 1 else None


def _channel(found: re.Match[str], types: ElementTypes) -> Element | None:
    if found["type"]:
        element = types.element(found["type"])
        return element if element is not None and not element.fields else None
    bits = [int(text) for text in found["bits"].split(",")]
    kind = _KINDS.get(found["kind"])
    parts = sum(map(bool, bits))
    return Element(f"{kind}{bits[0]}", parts) if kind and parts else None
