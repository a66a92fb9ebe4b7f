"""The host runtime's own tests, run on the device: both back ends implement CUDA alike."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

HOST = Path(__file__).parent.parent / "integration" / "backends"

# Left out: what the host runtime reports about itself, poison inside kernels, fetches that it
# refuses and a device answers somehow, and functions without masks, which newer devices no longer
# have.
SHARED = {
    "test_host_execution": (
        "test_block_reduction_with_barriers",
        "test_barriers_count_and_vote",
        "test_exited_threads_do_not_count_at_barriers_nor_in_warps",
        "test_warp_reduction_and_scan_by_shuffles",
        "test_shuffles_stay_in_their_part_of_the_warp",
        "test_votes_matches_and_reductions",
        "test_diverged_warps_meet_again_by_syncwarp",
        "test_a_lock_is_given_up_by_a_sleeping_thread",
    ),
    "test_host_agreement": (
        "test_a_device_takes_the_values_that_the_oracle_takes",
        "test_members_of_structs_may_lie_anywhere",
    ),
    "test_host_atomics": ("test_atomics",),
    "test_host_intrinsics": ("test_integer_intrinsics",),
    "test_host_language": ("test_constants_and_globals_are_set_from_outside",),
    "test_host_textures": (
        "test_textures_of_every_format",
        "test_far_indices_are_outside",
        "test_integers_of_other_widths_and_fewer_components",
    ),
    "test_host_images": (
        "test_vectors_of_one_two_and_four_components",
        "test_behind_the_layers_is_the_last_and_so_is_before_them",
        "test_gather_gives_one_component_of_four_texels",
        "test_surfaces_are_read_and_written",
        "test_what_lies_beyond_a_surface",
    ),
}


def _module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"shared_{name}", HOST / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


for _name, _tests in SHARED.items():
    _from = _module(_name)
    globals().update({test: getattr(_from, test) for test in _tests})
