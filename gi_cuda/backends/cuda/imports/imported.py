"""Run other people's machine code in place of a target's kernels: PTX, cubins and LLVM-IR."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import xxhash

from gi_cuda.backends.compile.elf import Elf
from gi_cuda.backends.compile.shards import first_error
from gi_cuda.backends.cuda.compile.binary import CudaBinary, binary_of, resources
from gi_cuda.backends.cuda.compile.cubin import kernels_of, plain_name, read_cubin
from gi_cuda.backends.cuda.compile.nvcc import NvccCompiler
from gi_cuda.backends.cuda.compile.texts import pointed_at
from gi_cuda.backends.cuda.imports.interface import Interface
from gi_cuda.backends.cuda.imports.signature import Signature, difference, in_cubin, in_ptx, spelled
from gi_cuda.backends.cuda.llvm.lowering import lowered
from gi_cuda.backends.cuda.ptx.batch import assemble
from gi_cuda.backends.cuda.ptx.joining import messages
from gi_cuda.errors import UserError
from gi_cuda.spec.launching.kernel_names import identifier, listed

KINDS = {".ptx": "PTX", ".cubin": "cubin", ".ll": "LLVM-IR", ".bc": "LLVM-IR"}
"""Kind of a file's contents, by its suffix."""

_SPECIFIC = re.compile(r"^[ \t]*\.target[^\n]*?\b(?P<architecture>sm_\d+)(?P<suffix>[af])\b", re.M)


def read_import(
    file: Path, compiler: NvccCompiler, options: Sequence[str], target: Interface, folder: Path
) -> CudaBinary:
    """Make a file ready to run in place of a target's kernels.

    PTX is assembled as nvcc would do it, LLVM-IR is compiled to PTX first; a cubin is used
    unchanged. Kernels and variables may have their C names, the names that nvcc gives them, or
    those of a variant.

    Args:
        file: a file with one of the suffixes in :data:`KINDS`.
        compiler: the compiler of the target's source.
        options: additional options of nvcc.
        target: the kernels and variables that the target needs.
        folder: folder for the cubin.

    Raises:
        UserError: the file cannot be read, assembled or run on this architecture, or it lacks
            something that the target needs; the message says what.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(file)) from None
    cubin = folder / f"{xxhash.xxh3_128_hexdigest(' '.join(options).encode() + content)}.cubin"
    try:
        if file.suffix == ".cubin":
            # Copy it, so that later changes of the file do not affect measurements.
            cubin.write_bytes(content)
            return _read(content, cubin, compiler, target).checked(target, None)
        text = _ptx(file, content, compiler.architecture)
        _assemble(text, file, compiler, options, cubin)
        found = _read(cubin.read_bytes(), cubin, compiler, target)
        return found.checked(target, _signatures(text))
    except UserError as error:
        raise UserError(error.what, where=error.where or str(file), hint=error.hint) from None


def _ptx(file: Path, content: bytes, architecture: str) -> str:
    if file.suffix == ".ptx":
        return content.decode("utf-8", "surrogateescape")
    text = content if file.suffix == ".bc" else content.decode()
    return lowered(text, architecture, "generated")


def _signatures(text: str) -> dict[str, Signature]:
    try:
        return in_ptx(text)
    except ValueError as error:
        raise UserError(f"its parameters cannot be understood: {error}") from None


def _assemble(
    text: str, file: Path, compiler: NvccCompiler, options: Sequence[str], cubin: Path
) -> None:
    specific = _SPECIFIC.search(text)
    if specific and specific["architecture"] == compiler.architecture:
        # Code with features of one architecture must be assembled for it by the suffixed name.
        compiler = replace(compiler, architecture=compiler.architecture + specific["suffix"])
    source = cubin.with_suffix(".ptx")
    source.write_bytes(text.encode("utf-8", "surrogateescape"))
    finished = assemble(compiler, options, source, cubin)
    if finished.ok:
        return
    for line, said in messages(finished.stderr):
        where = f"{file}:{line}" if file.suffix == ".ptx" else None
        raise UserError(f"ptxas does not take it: {said}", where=where)
    raise UserError(f"ptxas does not take it: {first_error(finished)}")


@dataclass(frozen=True, slots=True)
class _Found:
    """The contents of a cubin.

    Attributes:
        binary: a binary with the kernels and variables that have the target's names.
        kernels, variables: symbols of all kernels and variables.
        signatures: signatures of all kernels, as far as the cubin tells.
    """

    binary: CudaBinary
    kernels: tuple[str, ...]
    variables: tuple[str, ...]
    signatures: Mapping[str, Signature]

    def checked(self, target: Interface, signatures: Mapping[str, Signature] | None) -> CudaBinary:
        """Return the binary if it has everything that the target needs.

        Args:
            signatures: signatures of its kernels, if more is known than the cubin tells.

        Raises:
            UserError: something is missing or has another signature.
        """
        signatures = self.signatures if signatures is None else signatures
        for name, expected in target.signatures.items():
            kernel = self.binary.kernels.get(identifier(name))
            if kernel is None:
                raise _missing("kernel", name, self.kernels)
            taken = signatures[kernel.symbol]
            if said := difference(expected, taken):
                raise UserError(
                    f"kernel {name} takes {spelled(taken)}, and the target's"
                    f" {spelled(expected)}: {said}",
                    hint="what takes part must take the very arguments that the target passes",
                )
        for name in target.variables:
            if identifier(name) not in self.binary.variables:
                raise _missing("variable", name, self.variables)
        return self.binary


def _missing(what: str, name: str, there: Iterable[str]) -> UserError:
    names = sorted({plain_name(symbol) for symbol in there})
    said = f"it has {listed(names)}" if names else f"it has no {what} at all"
    return UserError(
        f"there is no {what} {name} in it; {said}",
        hint="a file that takes part must have all kernels of the target, and its variables",
    )


def _read(data: bytes, cubin: Path, compiler: NvccCompiler, target: Interface) -> _Found:
    try:
        elf = Elf(data)
        architecture = elf.architecture
        kernels = kernels_of(elf)
        signatures = in_cubin(elf, tuple(kernels))
        variants = read_cubin(data)
    except (ValueError, IndexError, struct.error):
        raise _no_cubin() from None
    if architecture is None:
        raise _no_cubin()
    _check_architecture(architecture, compiler.architecture)
    variables = tuple(one.name for one in elf.symbols if one.is_variable)
    if len(variants) == 1:
        ((ident, content),) = variants.items()
        built = binary_of(ident, cubin, content, pointed_at(compiler.kernels, compiler.symbols))
        if isinstance(built, CudaBinary):
            return _Found(built, tuple(kernels), variables, signatures)
    found = {
        identifier(name): kernels[symbol]
        for name, symbol in _resolved("kernel", target.symbols, kernels)
    }
    binary = CudaBinary(
        0,
        cubin,
        xxhash.xxh3_128_digest(data),
        resources(found.values()) if found else {},
        kernels=found,
        variables={identifier(n): s for n, s in _resolved("variable", target.variables, variables)},
    )
    return _Found(binary, tuple(kernels), variables, signatures)


def _no_cubin() -> UserError:
    return UserError("is no cubin", hint="ptxas and nvcc -cubin make cubins")


def _check_architecture(found: int, wanted: str) -> None:
    """Refuse a cubin for another major architecture, or for a higher minor one."""
    here = int(re.sub(r"\D", "", wanted))
    if found // 10 != here // 10 or found > here:
        raise UserError(
            f"the cubin is for sm_{found}, and the architecture here is {wanted}",
            hint="make it anew for this architecture, or import the PTX that it was made of",
        )


def _resolved(
    what: str, wanted: Mapping[str, str], there: Iterable[str]
) -> Iterator[tuple[str, str]]:
    """Yield those names that have a symbol, with the symbol.

    This is the exact symbol that nvcc makes of the target's source, or the only symbol with the
    same identifier.
    """
    symbols = tuple(there)
    for name, symbol in wanted.items():
        called = [one for one in symbols if plain_name(one) == plain_name(symbol)]
        if symbol in symbols:
            yield name, symbol
        elif len(called) == 1:
            yield name, called[0]
        elif called:
            raise UserError(
                f"several could be the {what} {name}: {listed(called)}",
                hint=f"keep the one that is meant, or name it {symbol}",
            )
