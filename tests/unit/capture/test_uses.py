"""Kernels of an application, and the launches chosen as cases."""

from pathlib import Path

import pytest

from gi_cuda.capture.launches.recording import CLUSTER, COOPERATIVE, GRAPH, recordings
from gi_cuda.capture.launches.uses import KernelUse, best, chosen, launches_from, obstacle, uses
from gi_cuda.errors import UserError
from tests.recorded import Made, write

SMOOTH = "_Z6smoothIfEvPKT_PS0_i"


def made(kernel: str, blocks: int = 4, **more: int) -> Made:
    return Made(kernel, (blocks, 1, 1), (128, 1, 1), **more)  # type: ignore[arg-type]


def found(folder: Path, *launches: Made) -> list[KernelUse]:
    write(folder, launches)
    return uses(recordings(folder)[0])


def test_the_kernel_that_takes_most_time_comes_first(tmp_path: Path) -> None:
    every = found(
        tmp_path,
        made("_Z4fastPi", nanoseconds=10),
        made(SMOOTH, nanoseconds=60),
        made("_Z4fastPi", nanoseconds=30),
    )
    assert [one.name.shown for one in every] == ["smooth<float>", "fast"]
    assert [len(one.launches) for one in every] == [1, 2]
    assert every[0].share == pytest.approx(0.6)
    assert every[1].seconds == pytest.approx(40e-9)


def test_without_times_the_one_that_is_launched_most(tmp_path: Path) -> None:
    every = found(tmp_path, made(SMOOTH, nanoseconds=0), *[made("_Z4fastPi", nanoseconds=0)] * 2)
    assert [one.name.shown for one in every] == ["fast", "smooth<float>"]


def test_of_a_template_the_instance_that_takes_most_time(tmp_path: Path) -> None:
    other = "_Z6smoothIdEvPKT_PS0_i"
    every = found(tmp_path, made(SMOOTH, nanoseconds=1), made(other, nanoseconds=5))
    assert chosen(every, "smooth").name.shown == "smooth<double>"
    assert chosen(every, "smooth<float>").name.shown == "smooth<float>"


def test_a_kernel_that_is_not_launched_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="launches no kernel 'blur'") as error:
        chosen(found(tmp_path, made(SMOOTH)), "blur")
    assert "smooth<float>" in str(error.value)


def test_one_name_in_two_namespaces_is_refused(tmp_path: Path) -> None:
    every = found(tmp_path, made("_ZN1a4blurEPf"), made("_ZN1b4blurEPf"))
    with pytest.raises(UserError, match="several kernels"):
        chosen(every, "blur")
    assert chosen(every, "b::blur").name.plain == "b::blur"


def test_cooperative_launches_are_known_and_clusters_refused(tmp_path: Path) -> None:
    every = found(tmp_path, made("_Z4fastPi", flags=COOPERATIVE), made(SMOOTH, flags=CLUSTER))
    assert chosen(every, "fast").cooperative
    assert not every[1].cooperative
    with pytest.raises(UserError, match="clusters of blocks"):
        chosen(every, "smooth")


def test_an_instance_for_a_lambda_is_refused(tmp_path: Path) -> None:
    (use,) = found(tmp_path, made("_Z3runIZ4mainEUliE_EvT_i"))
    error = obstacle(use)
    assert error is not None
    assert "a type that has no name, as that of a lambda" in error.what
    with pytest.raises(UserError):
        chosen([use], "run")
    (other,) = found(tmp_path / "other", made(SMOOTH))
    assert obstacle(other) is None


def test_graphs_are_counted(tmp_path: Path) -> None:
    write(tmp_path, [made(SMOOTH), Made("", (0, 0, 0), (0, 0, 0), flags=GRAPH)])
    assert recordings(tmp_path)[0].graphs == 1


def test_cases_are_spread_over_the_run_with_its_first_and_last_launch(tmp_path: Path) -> None:
    use = found(tmp_path, *[made(SMOOTH) for _ in range(100)])[0]
    assert best(use, range(100), 4) == [0, 33, 66, 99]
    assert best(use, range(10, 13), 4) == [10, 11, 12]
    assert best(use, range(100), 1) == [50]


def test_of_a_long_run_its_beginning_is_taken(tmp_path: Path) -> None:
    use = found(tmp_path, *[made(SMOOTH, nanoseconds=10**9) for _ in range(100)])[0]
    assert best(use, range(100), 4) == [0, 2, 3, 5]
    assert best(use, range(90, 100), 4) == [90, 92, 93, 95]


def test_each_geometry_has_its_turn_that_which_takes_longest_first(tmp_path: Path) -> None:
    launches = [made(SMOOTH, blocks=2 + number % 3) for number in range(30)]
    launches.append(made(SMOOTH, blocks=9, nanoseconds=10**6))
    use = found(tmp_path, *launches)[0]
    assert best(use, range(31), 1) == [30]
    grids = {int(use.launches[number]["grid"][0]) for number in best(use, range(31), 4)}
    assert grids == {2, 3, 4, 9}


def test_only_launches_on_the_first_device_are_taken(tmp_path: Path) -> None:
    use = found(tmp_path, *[made(SMOOTH, device=number % 2) for number in range(6)])[0]
    assert best(use, range(6), 4) == [0, 2, 4]


def test_launches_are_counted_from_one() -> None:
    assert launches_from("best", 5) == range(5)
    assert launches_from("2..4", 5) == range(1, 4)
    assert launches_from("3", 5) == range(2, 3)


@pytest.mark.parametrize("text", ["0..2", "4..2", "x", "2..", "-1"])
def test_what_names_no_launches_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="names no launches"):
        launches_from(text, 5)


def test_launches_that_there_are_not_are_refused() -> None:
    with pytest.raises(UserError, match="launched 5 times"):
        launches_from("4..6", 5)
