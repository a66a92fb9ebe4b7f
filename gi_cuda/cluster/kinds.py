"""Kinds of machines among the workers of a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from gi_cuda.backends.table import open_backend
from gi_cuda.cluster.meeting import Meeting
from gi_cuda.cluster.package import tools_of
from gi_cuda.errors import MachineError, UserError

if TYPE_CHECKING:
    from distributed import Client

Tools: TypeAlias = Mapping[str, str]
"""Device and tool versions of a machine by readable name; see ``cluster.package.tools_of``."""

Among: TypeAlias = Callable[["Client", Collection[str]], Awaitable[Collection[str]]]
"""A function that selects, from addresses of workers, those that take part."""

_SAME_EVERYWHERE = "gi-cuda", "build"
"""Names of the versions that must be equal on machines of all kinds."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A group of machines whose times can be compared.

    Attributes:
        name: name of their device; if two kinds have the same device, also the versions that
            differ.
        tools: device and tool versions of each machine.
    """

    name: str
    tools: Tools


async def everyone(client: Client, addresses: Collection[str]) -> Collection[str]:
    """Select all workers; a worker that cannot take part reports it when it joins."""
    return addresses


def of_kind(kind: Kind, backend: str) -> Among:
    """Return a selector of the workers of one kind."""

    async def among(client: Client, addresses: Collection[str]) -> Collection[str]:
        found = await _tools(client, backend, addresses)
        return [address for address, tools in found.items() if tools == kind.tools]

    return among


def kinds_of(meeting: Meeting, backend: str, own: Tools) -> tuple[Kind, ...]:
    """Return the kinds of the workers of a cluster, the search's own kind first.

    Args:
        own: device and tool versions of the search's machine.

    Raises:
        UserError: no worker is of the search's own kind, all are, or one has another version of
            gi-cuda.
    """

    async def ask() -> Mapping[str, Any]:
        client = await meeting.client()
        try:
            return await _tools(client, backend, list(await client.nthreads()))
        finally:
            await client.close()

    found: list[Tools] = []
    for address, tools in asyncio.run(ask()).items():
        if isinstance(tools, Exception):
            continue  # the worker reports the error when it joins
        _check_version(address, own, tools)
        if tools not in found:
            found.append(tools)
    if own not in found:
        raise MachineError(
            f"none of its workers is of the search's own kind, {own['device']}",
            where=meeting.where,
            hint="start one on this machine, or search from a machine that is like a worker",
        )
    if len(found) == 1:
        raise MachineError(
            f"all of its workers are of one kind, {own['device']}",
            where=meeting.where,
            hint="start workers of the other kinds first, or leave --objective out",
        )
    found.sort(key=lambda one: (one != own, one["device"], str(one)))
    return tuple(Kind(_name(one, found), one) for one in found)


async def _tools(
    client: Client, backend: str, addresses: Collection[str]
) -> Mapping[str, Tools | Exception]:
    """Return the device and tool versions of each worker, or the error that it raised."""
    if not addresses:
        return {}
    answers: Mapping[str, Tools | Exception] = await client.run(
        tools_here, backend, workers=list(addresses), on_error="return"
    )
    return answers


async def tools_here(backend: str) -> dict[str, str]:
    """Return the device and tool versions of the machine that runs this function.

    Raises:
        UserError: the back end cannot be used there.
    """
    return await asyncio.to_thread(lambda: tools_of(open_backend(backend)))


def _check_version(address: str, own: Tools, tools: Tools) -> None:
    for name in _SAME_EVERYWHERE:
        if own.get(name) != tools.get(name):
            raise UserError(
                f"{address} has another gi-cuda: its {name} is {tools.get(name)}, here it is"
                f" {own.get(name)}",
                hint="install the same version on all machines",
            )


def _name(one: Tools, kinds: Collection[Tools]) -> str:
    """Return a name that distinguishes a kind from the others."""
    like = [other for other in kinds if other["device"] == one["device"]]
    differing = [name for name in one if any(other.get(name) != one[name] for other in like)]
    more = ", ".join(f"{name} {one[name]}" for name in differing)
    return f"{one['device']} ({more})" if more else one["device"]
