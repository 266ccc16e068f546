import pytest
from neurozoo.compute.dask_settings import ClusterSettings
from neurozoo.errors import NeurozooError

FILES = {"ca_file": "/k/ca.pem", "certificate": "/k/me.pem", "key": "/k/me.key"}


def test_a_line_and_a_mapping_give_the_same_settings():
    words = ClusterSettings.of("slurm workers=20 threads=8 'directives=-C avx2; --exclusive' walltime=04:00:00")
    keys = {
        "cluster": "slurm",
        "workers": 20,
        "threads": 8,
        "directives": "-C avx2; --exclusive",
        "walltime": "04:00:00",
    }
    assert words == ClusterSettings.of(keys)
    assert (words.workers, words.threads, words.directives) == (20, 8, "-C avx2; --exclusive")


@pytest.mark.parametrize("words", ["local", "sge workers=3 least_workers=0", "slurm 'directives=-C \"a b\"; -x n1'"])
def test_words_can_be_written_and_read_again(words):
    settings = ClusterSettings.of(words)
    assert ClusterSettings.of(settings.to_words()) == settings


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("lokal", "did you mean 'local'"),
        ("workers=3", "kind of Dask cluster is missing"),
        ("local wrkers=3", "did you mean 'workers'"),
        ("local workers=0", "workers should be a whole number, at least 1, but got 0"),
        ("local workers=two", "workers should be a whole number, at least 1, but got 'two'"),
        ({"cluster": "local", "workers": True}, "but got True"),
        ("local workers=2 least_workers=3", "at most workers (2), but got 3"),
        ("local memory=4QB", "memory should be a number with a unit, such as 16GB or 512MiB, but got '4QB'"),
        ("slurm memory=lots", "memory should be a number with a unit"),
        ("slurm memory=16", "memory should be a number with a unit"),
        ("local sge", "given once"),
        ("slurm 'directives=unclosed", "cannot be read"),
        ("slurm 'queue=a; rm -rf x'", "queue has characters that are not allowed"),
        ("slurm 'account=$(id)'", "account has characters that are not allowed"),
        ({"cluster": "slurm", "directives": "-C a\nrm -rf x"}, "directives should be one line of text"),
        ({"cluster": "slurm", "walltime": 4}, "walltime should be one line of text"),
        ("tls://node7:8786", "needs the files ca_file, certificate, key"),
        ("tcp://node7:8786", "is not encrypted"),
        ({"cluster": "tcp://127.0.0.1.example.org:8786"}, "is not encrypted"),
        ({"cluster": "ucx://127.0.0.1:8786"}, "is not encrypted"),
    ],
)
def test_invalid_settings_are_refused(value, words):
    with pytest.raises(NeurozooError) as caught:
        ClusterSettings.of(value)
    assert words in str(caught.value)


def test_an_address_is_accepted_with_keys_and_without_them_only_on_this_machine():
    assert ClusterSettings.of({"cluster": "tls://node7:8786", **FILES}).is_address
    assert ClusterSettings.of("tcp://127.0.0.1:8786").is_address
