"""Connection to a dask cluster through its scheduler."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from gi_cuda.errors import MachineError, UserError

if TYPE_CHECKING:
    from distributed import Client

ANSWERING = 15.0
"""Timeout for the scheduler's answer, in seconds."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """The address of a cluster's scheduler.

    Attributes:
        where: the user's option, for messages.
        options: arguments for dask's client.
    """

    where: str
    options: Mapping[str, str]

    async def client(self) -> Client:
        """Connect to the scheduler.

        Raises:
            MachineError: no scheduler answers.
        """
        from distributed import Client

        options: dict[str, Any] = {**self.options, "timeout": ANSWERING}
        try:
            return await Client(**options, asynchronous=True, set_as_default=False)
        except (OSError, ValueError) as error:
            raise MachineError(
                f"no dask scheduler answers there: {error}",
                where=self.where,
                hint="start one with `dask scheduler`; it prints its address",
            ) from None


def meeting_at(said: str) -> Meeting:
    """Return the scheduler that a user named, after checking that it answers.

    Args:
        said: the scheduler's address, or the path of its file.

    Raises:
        UserError: dask is not installed, or there is no scheduler.
    """
    where = f"--cluster {said}"
    if find_spec("distributed") is None:
        raise UserError(
            "several machines need dask.distributed",
            where=where,
            hint="pip install 'gi-cuda[cluster]'",
        )
    if said.endswith(".json") and not os.path.isfile(said):
        raise UserError(
            "there is no such scheduler file",
            where=where,
            hint=f"start the scheduler first: dask scheduler --scheduler-file {said}",
        )
    name = "scheduler_file" if said.endswith(".json") else "address"
    meeting = Meeting(where, {name: said})

    async def meet() -> None:
        await (await meeting.client()).close()

    asyncio.run(meet())
    return meeting
