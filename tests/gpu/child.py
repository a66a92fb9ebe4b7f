"""Run one launch: read a job from standard input, write the result to standard output."""

from __future__ import annotations

import pickle
import struct
import sys

import numpy as np

from gi_cuda.backends.cuda.device.confinement import GRACE, Confinement
from gi_cuda.backends.cuda.device.context import Context
from gi_cuda.backends.cuda.device.memory_layout.arena import Arena
from gi_cuda.backends.cuda.device.memory_layout.memory import Memory, guards
from gi_cuda.backends.cuda.device.textures import Textures
from gi_cuda.backends.cuda.helpers import build_helpers
from gi_cuda.backends.cuda.toolkit import find_toolkit
from gi_cuda.backends.protocol.device import LaunchRefused
from gi_cuda.backends.protocol.device_lock import WorkerSlot
from gi_cuda.spec import Surface, Texture, View


def main() -> None:
    job = pickle.load(sys.stdin.buffer)
    context = Context(WorkerSlot(2))
    helpers = context.module(build_helpers(find_toolkit(), context.architecture))
    memory = Memory(context, helpers)
    views = {name: _view(name, told) for name, told in job["textures"].items()}
    written = [name for name, view in views.items() if isinstance(view.of, Surface)]
    textures = Textures(context, written)
    binary, arena, confinement, limit = job["binary"], None, None, job["limit"]
    control = 0
    if binary.confined:
        arena, confinement = Arena(context), Confinement(context, helpers)
        arena.extend()
        control = arena.allocate("control", 65536)
        confinement.begin(control, limit, shadowed=arena.shadow.there)
        limit += GRACE
    module = context.module(binary.path)
    for name, value in job["symbols"].items():
        address, _ = module.get_global(binary.variables[name])
        context.drv.memcpy_htod(address, value)

    regions, form, values, kept = {}, "@", [], []
    for name, value in job["arguments"].items():
        if isinstance(value, np.ndarray):
            pristine = 0
            if name not in job["unwritten"]:
                kept.append(memory.upload(name, value))
                pristine = int(kept[-1])
            regions[name] = memory.room(name, value.nbytes, pristine, arena)
            memory.fill(regions[name], arena)
            if name in job["textures"]:
                made = textures.object(views[name], regions[name])
                form, values = form + "Q", [*values, made]
            else:
                form, values = form + "P", [*values, regions[name].address]
        else:
            form, values = form + value.dtype.char, [*values, value.item()]

    surfaces = [(views[name], regions[name]) for name in written]
    textures.enter(surfaces)
    error = ""
    try:
        kernel = context.function(module, binary.kernels["k"].symbol, job["shared"])
        packed = struct.pack(form, *values)
        context.launch(kernel, job["grid"], job["block"], packed, job["shared"])
    except LaunchRefused as problem:
        error = f"LaunchRefused: {problem}"
    end = context.event()
    end.record(context.stream)
    textures.leave(surfaces)
    context.wait(end, limit)
    signs = memory.failing(confinement.signs(control, confined=True)) if confinement else []
    fates = confinement.fates(signs) if confinement else ()
    damaged = [
        f"{word} {name}"
        for name, region in regions.items()
        for index in memory.failing(guards(region))
        for word in [("before", "behind")[index]]
    ]
    outputs = {
        name: memory.download([region])[0].view(job["arguments"][name].dtype).copy()
        for name, region in regions.items()
    }
    answer = {
        "error": error,
        "outputs": outputs,
        "damaged": damaged,
        "fates": [one.kind for one in fates],
    }
    sys.stdout.buffer.write(pickle.dumps(answer))
    sys.stdout.buffer.flush()
    textures.close()
    del regions, kept, helpers, module, memory, arena, confinement
    context.close()


def _view(name: str, told: View | tuple[str, int, bool]) -> View:
    if isinstance(told, View):
        return told
    dtype, *shape = told
    return View(Texture(name, name, np.dtype(dtype), *shape), name)


main()
