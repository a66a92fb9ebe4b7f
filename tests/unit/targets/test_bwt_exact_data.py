"""The FM-index and the reads of bwt_exact, against searches of the text itself."""

import gzip
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

FOLDER = Path(__file__).parents[3] / "targets" / "bwt_exact"


def load(name: str) -> SimpleNamespace:
    path = FOLDER / f"{name}.py"
    names = {"__name__": name, "__file__": str(path)}
    exec(compile(path.read_bytes(), str(path), "exec"), names)
    return SimpleNamespace(**names)


data, oracle = load("data"), load("oracle")


@lru_cache(maxsize=1)
def small_case() -> dict:
    return data.case(seed=5, reads=400, wrap=2000)


def text_of(codes: np.ndarray) -> str:
    return "".join("ACGTN"[code] for code in codes)


def occurrences(text: str, part: str) -> list[int]:
    found, at = [], text.find(part)
    while at >= 0:
        found.append(at)
        at = text.find(part, at + 1)
    return found


def other_strand(read: str) -> str:
    return read[::-1].translate(str.maketrans("ACGT", "TGCA"))


def genomes(least: int = 1, most: int = 400) -> st.SearchStrategy[np.ndarray]:
    """Genomes, the repetitive ones included that make sorting suffixes hard."""
    unit = st.lists(st.integers(0, 3), min_size=1, max_size=12)
    return st.builds(
        lambda unit, tail, size: np.resize(np.array(unit + tail, np.uint8), size),
        unit,
        st.lists(st.integers(0, 3), max_size=40),
        st.integers(least, most),
    )


@given(genomes())
def test_suffixes_are_sorted(genome):
    text = text_of(genome)
    assert data.suffix_array(genome).tolist() == sorted(
        range(len(text) + 1), key=lambda start: text[start:]
    )


@given(genomes(least=4))
def test_index_holds_the_transformed_genome(genome):
    index = data.build_index(genome)
    rotations = sorted(
        text_of(genome)[i:] + "$" + text_of(genome)[:i] for i in range(len(genome) + 1)
    )
    last = "".join(rotation[-1] for rotation in rotations)
    assert index.head[:2].tolist() == [len(genome), last.index("$")]
    assert index.head[2:7].tolist() == [sum(b < c for b in text_of(genome)) for c in "ACGTU"]
    stored = last.replace("$", "")
    buckets = index.bwt.reshape(-1, data.BUCKET_WORDS)
    assert len(buckets) == len(genome) // 128 + 1
    for number, bucket in enumerate(buckets):
        assert bucket[:4].tolist() == [stored[: number * 128].count(base) for base in "ACGT"]
        bases = (int(bucket[4 + i // 16]) >> 2 * (i % 16) & 3 for i in range(128))
        here = stored[number * 128 : number * 128 + 128]
        assert "".join("ACGT"[base] for base in bases)[: len(here)] == here


@given(genomes(least=4), st.integers(0, 255))
def test_starts_are_the_rows_of_each_string(genome, number):
    text = text_of(genome)
    string = "".join("ACGT"[number >> shift & 3] for shift in (6, 4, 2, 0))
    rows = [
        row
        for row, start in enumerate(sorted(range(len(text) + 1), key=lambda i: text[i:]))
        if text.startswith(string, start)
    ]
    want = [rows[0], rows[-1]] if rows else [1, 0]
    assert data.build_index(genome).starts.reshape(-1, 2)[number].tolist() == want


@given(st.integers(1, 5), st.integers(1, 40), st.sampled_from([4, 8, 16]), st.randoms())
def test_packed_codes_come_out_again(rows, width, per_word, random):
    codes = np.array([[random.randrange(4) for _ in range(width)] for _ in range(rows)], np.uint8)
    words = data.pack_codes(codes, per_word)
    bits = 32 // per_word
    for i in range(width):
        assert (words[:, i // per_word] >> bits * (i % per_word) & 3).tolist() == codes[
            :, i
        ].tolist()


def test_answers_agree_with_a_search_of_the_text():
    """k..l are the rows of exactly the places where the read stands in the text, for every read."""
    case = small_case()
    genome = data.wrapped_genome(str(FOLDER / "data/lambda_virus.fa.gz"), 2000)
    text, length = text_of(genome), data.READ_LENGTH
    want = oracle.answers(case)
    codes = case["reads4"].view(np.uint8).reshape(400, length)
    suffixes = [data.suffix_array(genome), data.suffix_array(genome[::-1])]
    several = 0
    for read in range(400):
        letters = text_of(codes[read])
        places = [
            occurrences(text, letters),
            [] if "N" in letters else occurrences(text, other_strand(letters)),
        ]
        for strand in (0, 1):
            k = int(want["k_out"][strand * 400 + read])
            l = int(want["l_out"][strand * 400 + read])  # noqa: E741
            starts = suffixes[strand][k : l + 1] if k <= l else np.zeros(0, int)
            if strand == 1:
                starts = len(text) - starts - length
            assert sorted(starts.tolist()) == places[strand]
            several += len(places[strand]) > 1
    assert several > 5


def test_reads_are_what_was_asked_for():
    codes = small_case()["reads4"].view(np.uint8).reshape(400, -1)
    want = oracle.answers(small_case())
    matched = (want["k_out"] <= want["l_out"]).reshape(2, 400)
    unknown = (codes == data.UNKNOWN).any(axis=1)
    assert 0.84 <= matched.any(axis=0).mean() <= 0.87
    assert 0.3 <= matched[0].mean() <= 0.6
    assert 0.3 <= matched[1].mean() <= 0.6
    assert 0.02 <= unknown.mean() <= 0.04
    assert not matched[:, unknown].any()


def test_the_ends_of_both_indexes_are_among_the_reads():
    genome = data.wrapped_genome(str(FOLDER / "data/lambda_virus.fa.gz"), 2000)
    want = oracle.answers(small_case())
    for strand, text in enumerate((genome, genome[::-1])):
        starts = data.suffix_array(text)
        rows = np.flatnonzero(starts <= text.size - data.READ_LENGTH)
        answers = slice(strand * 400, strand * 400 + 8)
        k, l = want["k_out"][answers], want["l_out"][answers]  # noqa: E741
        assert {rows[0], rows[-1]} <= {*k[k <= l], *l[k <= l]}
        placed = {int(start) for a, b in zip(k, l, strict=True) for start in starts[a : b + 1]}
        assert {0, text.size - data.READ_LENGTH} <= placed


def test_layouts_hold_the_same_reads():
    case = small_case()
    rows4, rows8 = case["reads4"].reshape(400, 25), case["reads8"].reshape(400, 13)
    assert (rows4 == case["reads4_stride"].reshape(25, 400).T).all()
    assert (rows8 == case["reads8_stride"].reshape(13, 400).T).all()
    halves = rows8[:, :, None] >> np.arange(0, 32, 4, dtype=np.uint32) & 15
    assert (halves.reshape(400, -1)[:, :100] == rows4.view(np.uint8)).all()


def test_seeds_draw_different_reads_and_the_same_ones_again():
    first, second = (data.case(seed=seed, reads=50)["reads8"] for seed in (1, 2))
    assert (first != second).any()
    assert (first == data.case(seed=1, reads=50)["reads8"]).all()


def test_letters_that_are_no_bases_are_drawn(tmp_path):
    plain, zipped = tmp_path / "a.fa", tmp_path / "a.fa.gz"
    plain.write_bytes(b">one\nACGTRYN\r\n>two\nacgt\n")
    zipped.write_bytes(gzip.compress(plain.read_bytes()))
    codes = data.read_genome(plain)
    assert codes[:4].tolist() == codes[7:].tolist() == [0, 1, 2, 3]
    assert codes.max() <= 3
    assert (data.read_genome(zipped) == codes).all()


@pytest.mark.parametrize("damage", [None, b"", b"PK\x03\x04 not whole"])
def test_large_genomes_come_from_the_cache(tmp_path, monkeypatch, damage):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    genome = np.random.default_rng(1).integers(0, 4, 3000, dtype=np.uint8)
    built = data._stored(genome)
    (stored,) = (tmp_path / "gi-cuda").iterdir()
    if damage is not None:
        stored.write_bytes(damage)
    for strands in (built, data._stored(genome)):
        for index, fresh in zip(
            strands, map(data.build_index, (genome, genome[::-1])), strict=True
        ):
            assert all((a == b).all() for a, b in zip(index, fresh, strict=True))
    assert len(list((tmp_path / "gi-cuda").iterdir())) == 1


def test_a_cache_folder_that_cannot_be_made_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    genome = np.arange(500, dtype=np.uint8) % 4
    assert data._stored(genome)[0].head[0] == 500
