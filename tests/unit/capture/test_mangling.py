"""Names of kernels in binaries."""

import pytest

from gi_cuda.capture.mangling import name_of


@pytest.mark.parametrize(
    ("mangled", "shown", "plain", "templates"),
    [
        ("_Z5scale5Shape", "scale", "scale", ()),
        ("_Z6smoothIfEvPKT_PS0_i", "smooth<float>", "smooth", ("float",)),
        ("_ZN5image4blurIfLi3EEEvPT_", "image::blur<float, 3>", "image::blur", ("float", "3")),
        ("plain", "plain", "plain", ()),
        ("_ZN12_GLOBAL__N_14ownsEPf", "owns", "owns", ()),
        ("_ZN34_INTERNAL_d8a1f6c7_4_k_cu_2b9c3d114ownsEPf", "owns", "owns", ()),
    ],
)
def test_a_name_as_binaries_have_it(
    mangled: str, shown: str, plain: str, templates: tuple[str, ...]
) -> None:
    name = name_of(mangled)
    assert (name.shown, name.plain, name.templates) == (shown, plain, templates)


def test_people_may_say_less_than_the_whole_name() -> None:
    name = name_of("_ZN5image4blurIfLi3EEEvPT_")
    for said in ("blur", "image::blur", "image::blur<float,3>", "image::blur<float, 3>"):
        assert name.is_meant_by(said)
    assert not name.is_meant_by("image")


def test_an_instance_for_a_lambda_cannot_be_named() -> None:
    assert name_of("_Z3runIZ4mainEUliE_EvT_i").nameless
    assert not name_of("_Z3runI7FunctorEvT_i").nameless


def test_what_is_no_mangled_name_stays_as_it_is() -> None:
    assert name_of("_Znonsense").shown == "_Znonsense"
