"""A Dask cluster on this machine gives the results of one process, also if workers are killed."""

import contextlib
import signal
import stat
from itertools import pairwise

import numpy as np
import psutil
import pytest
from neurozoo.compute.dask_settings import ClusterSettings
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, dask_worker, make_evaluator, play
from neurozoo.evaluation.dask_tasks import MOST_TASKS_PER_SECOND, TASK_SECONDS, task_size
from neurozoo.genomes.genome import Genome, Mutation, Weights

GAME = "gym.CartPole-v1"  # in Python, so that workers need no TensorFlow


@pytest.fixture(scope="module")
def world(core, small_noise_table):
    protocol = protocol_of(GAME)
    layout = layout_of(GAME, "simple", protocol)
    return {"game": GAME, "layout": layout, "protocol": protocol, "core": core, "noise": small_noise_table}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("the run's $(folder)")  # with characters that are special in a shell


def started_by_us():
    return psutil.Process().children(recursive=True)


def listening():
    found = set()
    for process in [psutil.Process(), *started_by_us()]:
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended since it was listed
            sockets = process.net_connections()
            found |= {(process.pid, *each.laddr) for each in sockets if each.status == psutil.CONN_LISTEN}
    return found


@pytest.fixture(scope="module")
def listening_before():
    """Sockets that earlier tests left open, such as the browser of the gallery's tests."""
    return listening()


@pytest.fixture(scope="module")
def cluster(world, folder, listening_before):
    settings = ClusterSettings.of("local workers=2 least_workers=2 threads=2")
    with make_evaluator(**world, cluster=settings, cluster_dir=folder) as evaluator:
        yield evaluator


@pytest.fixture(scope="module")
def alone(world):
    with make_evaluator(**world) as evaluator:
        yield evaluator


def command_line(process):
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # it has ended since it was listed
        return ""


def workers():
    """Worker processes, without the nannies that watch them."""
    return [process for process in started_by_us() if "spawn_main" in command_line(process)]


def scores(results):
    return {number: (result.score, result.steps, result.frames) for number, result in results.items()}


@pytest.fixture(scope="module")
def parents(world):
    """A genome from noise, and one that starts from weights."""
    theta = np.linspace(-1, 1, world["layout"].parameter_count, dtype=np.float32)
    return [Genome(5, (Mutation(6, 0.5),)), Genome(Weights.of(theta))]


def population(parents, size, *, first=0):
    """Episodes of the parents, of their children, and of initial weights whose parents are not pinned."""
    kinds = [
        lambda n: parents[0],
        lambda n: parents[1],
        lambda n: parents[0].mutated(n, 0.5),
        lambda n: parents[1].mutated(n, 0.5),
        lambda n: Genome(n),
    ]
    return {n: Episode(kinds[n % 5](n), 0, n, 200) for n in range(first, first + size)}


def test_results_are_those_of_one_process(cluster, alone, parents):
    episodes = population(parents, 60)
    for evaluator in (cluster, alone):
        evaluator.pin(parents)
    found = play(cluster, episodes)
    assert scores(found) == scores(play(alone, episodes))
    assert len({result.score for result in found.values()}) > 3


def test_killed_workers_cost_only_time(cluster, alone, parents, wait_until):
    episodes = population(parents, 3000, first=100)
    for evaluator in (cluster, alone):
        evaluator.pin(parents)
    cluster.submit(episodes)
    found = cluster.receive(timeout=600)
    for share in (0.2, 0.5):
        while len(found) < share * len(episodes):
            found |= cluster.receive(timeout=1)
        for process in wait_until(workers, what="no worker came"):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)
    while len(found) < len(episodes):
        found |= cluster.receive(timeout=1)
    assert scores(found) == scores(play(alone, episodes))


def test_only_the_genomes_of_the_last_pin_count(cluster, alone, parents):
    child = parents[0].mutated(9, 0.5)
    episodes = {1: Episode(child.mutated(11, 0.5), 0, 1, 200)}
    cluster.pin(parents)
    with pytest.raises(NeurozooError, match="must be pinned first"):
        cluster.submit(episodes)
    for evaluator in (cluster, alone):
        evaluator.pin([child])
    assert scores(play(cluster, episodes)) == scores(play(alone, episodes))


def test_an_episode_can_be_recorded_on_a_worker(cluster, alone, parents):
    traces = []
    for evaluator in (cluster, alone):
        evaluator.pin(parents)
        traces.append(evaluator.trace(Episode(parents[0], 0, 3, 200)))
    assert traces[0].logits.tobytes() == traces[1].logits.tobytes()
    assert len(traces[0].rewards) > 5


def test_statistics_of_observations_that_change_reach_the_evaluators_that_are_there(world, tmp_path):
    """Another evaluator on each worker for each phase would map the noise table and make the environment again."""
    world = world | {"layout": layout_of(GAME, "mujoco", world["protocol"])}
    parent = Genome(5)
    found = []
    settings = ClusterSettings.of("local workers=1")
    with make_evaluator(**world, cluster=settings, cluster_dir=tmp_path) as cluster, make_evaluator(**world) as alone:
        for mean in (0.0, 3.0, 3.0, -3.0):
            for evaluator in (cluster, alone):
                evaluator.set_reference(np.array([[mean] * 4, [1.0] * 4], np.float32).reshape(2, 1, 1, 4))
                evaluator.pin([parent])
            episodes = {n: Episode(parent.mutated(n, 0.5), 0, n, 200) for n in range(10)}
            found.append(scores(play(cluster, episodes)))
            assert found[-1] == scores(play(alone, episodes))
        (evaluators,) = cluster._client.run(lambda: len(dask_worker._evaluators)).values()
    assert evaluators == 1
    assert found[1] == found[2] != found[3] != found[0] != found[1]


def test_sockets_listen_on_loopback_only_and_only_the_user_can_read_the_keys(
    cluster, folder, listening_before, wait_until
):
    wait_until(lambda: len(listening() - listening_before) >= 3)  # the scheduler and two workers
    sockets = listening() - listening_before
    assert {address for _, address, _ in sockets} == {"127.0.0.1"}
    assert {stat.S_IMODE((folder / name).stat().st_mode) for name in ("certificate.pem", "key.pem")} == {0o600}
    secret = (folder / "key.pem").read_text().splitlines()[1]
    for process in started_by_us():
        assert secret not in command_line(process)
        with contextlib.suppress(psutil.NoSuchProcess):
            assert secret not in " ".join(process.environ().values())


def test_nobody_without_the_key_gets_in(cluster, python):
    code = """
import sys
from distributed import Client, Security
address = sys.argv[1]
for security in (None, Security.temporary()):
    for scheme in ("tcp", "tls"):
        try:
            Client(address.replace("tls", scheme, 1), security=security, timeout=3)
            print("in")
        except Exception as error:
            print("out")
"""
    address = cluster._client.scheduler.address
    assert python(code, address, check=False).stdout.split() == ["out"] * 4


def test_an_error_on_a_worker_is_reported_in_one_sentence(cluster, parents):
    cluster.pin(parents)
    cluster.submit({1: Episode(Genome(10**9), 0, 1, 200)})
    with pytest.raises(NeurozooError, match=r"On a worker of the Dask cluster: .*lies outside the noise table"):
        cluster.receive(timeout=600)


@pytest.mark.long(seconds=4)
def test_after_closing_only_logs_are_left(world, tmp_path, parents, wait_until):
    settings = ClusterSettings.of("local workers=1")
    before = {process.pid for process in started_by_us()}
    with make_evaluator(**world, cluster=settings, cluster_dir=tmp_path) as evaluator:
        evaluator.pin(parents)
        play(evaluator, population(parents, 2))
        address = evaluator._client.scheduler.address
    wait_until(lambda: {process.pid for process in started_by_us()} <= before, what="processes stayed")
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]
    assert not any(
        connection.laddr == ("127.0.0.1", int(address.rpartition(":")[2]))
        for connection in psutil.Process().net_connections()
    )
    with pytest.raises(NeurozooError, match="closed"):
        evaluator.receive(timeout=0)


def test_keys_that_a_killed_run_left_are_removed(world, tmp_path):
    (tmp_path / "key.pem").write_text("old")
    with make_evaluator(**world, cluster=ClusterSettings.of("local workers=1"), cluster_dir=tmp_path):
        assert (tmp_path / "key.pem").read_text() != "old"
    assert not (tmp_path / "key.pem").exists()


def test_the_batched_engine_is_not_for_a_cluster(world, tmp_path):
    atari = {**world, "game": "pong", "protocol": protocol_of("pong")}
    with pytest.raises(NeurozooError, match="got engine: batched"):
        make_evaluator(**atari, engine="batched", cluster=ClusterSettings.of("local"), cluster_dir=tmp_path)


@pytest.mark.parametrize("kind", ["sge", "slurm"])
def test_a_cluster_without_its_commands_is_refused_at_once(world, tmp_path, monkeypatch, kind):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NeurozooError, match="which is not on the PATH"):
        make_evaluator(**world, cluster=ClusterSettings.of(kind), cluster_dir=tmp_path)


def test_an_address_without_a_scheduler_is_refused(world, tmp_path, monkeypatch):
    monkeypatch.setattr("neurozoo.compute.dask_clusters.CONNECT_SECONDS", 1)
    with pytest.raises(NeurozooError, match=r"No Dask scheduler answers at tcp://127\.0\.0\.1:1 "):
        make_evaluator(**world, cluster=ClusterSettings.of("tcp://127.0.0.1:1"), cluster_dir=tmp_path)


def test_tasks_have_the_intended_length():
    assert task_size(10**6, slots=16, seconds=0.01) == TASK_SECONDS / 0.01
    assert task_size(10**6, slots=16, seconds=5.0) == 1


def test_tasks_are_longer_where_there_would_be_too_many_for_the_scheduler():
    size = task_size(10**7, slots=2000, seconds=0.1)
    assert 2000 / (size * 0.1) == pytest.approx(MOST_TASKS_PER_SECOND, rel=0.02)


def sizes_of(unsent, **cluster):
    sizes = []
    while unsent:
        sizes.append(task_size(unsent, **cluster))
        unsent -= sizes[-1]
    return sizes


@pytest.mark.parametrize("unsent", [1, 2, 5, 300])
@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.5, float("inf")])
def test_a_task_has_no_more_pieces_than_there_are(unsent, seconds):
    assert 1 <= task_size(unsent, slots=16, seconds=seconds, threads=8) <= unsent


def test_tasks_get_shorter_until_the_end():
    sizes = sizes_of(1000, slots=4, seconds=0.02)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 1.5 / 0.02
    assert sizes[-8:] == [1] * 8


@pytest.mark.parametrize("episodes", [1_000, 5_000, 50_000])
def test_more_slots_than_a_scheduler_can_feed_do_not_make_a_generation_longer(episodes):
    def seconds_of(slots):
        sizes = sizes_of(episodes, slots=slots, seconds=0.5, threads=8)
        return max(len(sizes) / MOST_TASKS_PER_SECOND, episodes * 0.5 / slots) + max(1, sizes[-1] / 8) * 0.5

    times = [seconds_of(slots) for slots in (80, 320, 1_000, 3_200, 10_000)]
    assert all(later <= 1.2 * earlier for earlier, later in pairwise(times))
    assert times[-1] < 0.6 * episodes / MOST_TASKS_PER_SECOND  # the time for tasks of one episode
