"""Inputs by address, on fsspec's store in memory: what is there is read as if it lay here, what is not ends in a sentence."""

import hashlib

import fsspec
import pytest

from analysis.errors import InputError, UsageError
from analysis.inputs import read
from analysis.pipeline import freshness
from analysis.pipeline.state import State
from analysis.readers import remote
from analysis.request import resolve
from analysis.studies.recipe_card.cells import RUNS

RUNS_CSV = "model,budget,seed,score\n" + "".join(f"a,100,{seed},0.9\n" for seed in range(25))


@pytest.fixture
def store():
    """A bucket of two files in nested folders."""
    memory = fsspec.filesystem("memory")
    memory.pipe("/bucket/logs/a/runs.csv", RUNS_CSV.encode())
    memory.pipe("/bucket/logs/b/runs.csv", RUNS_CSV.replace("a,", "b,").encode())
    yield memory
    memory.rm("/bucket", recursive=True)


def test_a_file_is_read_with_the_digest_of_its_bytes(store):
    found = read(["memory://bucket/logs/a/runs.csv"], RUNS)
    assert [(file.file, file.sha256, file.rows) for file in found.files] == [
        ("runs.csv", hashlib.sha256(RUNS_CSV.encode()).hexdigest(), 25)
    ]


def test_a_folder_is_read_at_any_depth(store):
    assert sorted(read(["memory://bucket/logs"], RUNS).frame["model"].unique()) == ["a", "b"]


def test_a_pattern_takes_what_fits(store):
    assert read(["memory://bucket/logs/b/*.csv"], RUNS).frame["model"].unique().tolist() == ["b"]


def test_what_changed_is_fetched_again(store):
    address = "memory://bucket/logs/a/runs.csv"
    assert len(read([address], RUNS).frame) == 25
    store.pipe("/bucket/logs/a/runs.csv", (RUNS_CSV + "a,100,25,0.9\n").encode())
    assert len(read([address], RUNS).frame) == 26


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("memory://bucket/logs/a/other.csv", "nothing is there"),
        ("memory://bucket/nothing/*.csv", "nothing is there"),
        ("s4://bucket/runs.csv", "no file system is called s4"),
        ("s3://key:word@bucket/runs.csv", "holds a user or a key"),
        ("https://host/runs.csv?signature=abc", "may hold a key"),
    ],
)
def test_what_cannot_be_read_ends_in_a_sentence(store, address, words):
    with pytest.raises(InputError, match=words):
        remote.stamps(address)


@pytest.mark.parametrize("address", ["s3://AKIA:word@bucket/x.csv", "https://host/x.csv?X-Amz-Signature=word"])
def test_a_key_in_an_address_is_never_repeated(address):
    with pytest.raises(UsageError) as caught:
        resolve("recipe-card", [address], [], [], [], None, None)
    assert "word" not in str(caught.value)


def test_a_name_in_the_store_cannot_leave_its_folder(store, monkeypatch):
    monkeypatch.setattr(remote, "_files", lambda _system, _path: ["/bucket/logs/a/../../../../../x.csv"])
    monkeypatch.setattr(remote, "_stamp", lambda _system, _name: "1")
    with pytest.raises(InputError, match="leaves its folder"):
        remote.fetch("memory://bucket/logs")


def test_names_and_digests_belong_together_at_any_depth(store, tmp_path):
    store.pipe("/bucket/logs/z.csv", b"z")  # after the folders by name, before them in a listing of folders
    found = dict(freshness._stored("memory://bucket/logs", State(tmp_path).__enter__()))
    assert found == {
        name: hashlib.sha256(data).hexdigest()
        for name, data in {
            "a/runs.csv": RUNS_CSV.encode(),
            "b/runs.csv": RUNS_CSV.replace("a,", "b,").encode(),
            "z.csv": b"z",
        }.items()
    }


def test_a_renamed_folder_in_the_store_is_a_change(store, tmp_path):
    before = freshness._stored("memory://bucket/logs", State(tmp_path).__enter__())
    store.mv("/bucket/logs/a", "/bucket/logs/c", recursive=True)
    assert freshness._stored("memory://bucket/logs", State(tmp_path).__enter__()) != before


def test_what_is_known_is_not_fetched_again(store, tmp_path, monkeypatch):
    with State(tmp_path) as state:
        first = freshness._stored("memory://bucket/logs", state)
    monkeypatch.setattr(remote, "copies", None)
    with State(tmp_path) as state:
        assert freshness._stored("memory://bucket/logs", state) == first


def test_a_store_that_tells_nothing_of_changes_is_asked_every_time():
    class Web:
        protocol = ("http", "https")

        def __init__(self, **told):
            self.told = told

        def info(self, _name):
            return {"size": 4, **self.told}

    assert remote._stamp(Web(), "x") != remote._stamp(Web(), "x")
    assert remote._stamp(Web(ETag="a"), "x") == remote._stamp(Web(ETag="a"), "x") != remote._stamp(Web(ETag="b"), "x")


@pytest.mark.parametrize(
    "address", ["abfs://container@account.dfs.core.windows.net/x.csv", "memory://b/date=2024/x.csv"]
)
def test_honest_addresses_are_taken(address):
    assert resolve("recipe-card", [address], [], [], [], None, None).data == {"runs": [address]}
