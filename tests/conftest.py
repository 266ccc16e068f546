"""What the tests share: the built core, the noise tables, evaluators, a disk that fills up, and a browser."""

import fcntl
import gc
import hashlib
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # see `SteadyImport`
# What shells ignore for commands in the background, and `nohup`, would be ignored in all processes that tests start.
for ignored in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(ignored) is signal.SIG_IGN:
        signal.signal(ignored, lambda *_: None)
_VARIABLES = dict(os.environ)
_HANDLERS = {number: signal.getsignal(number) for number in signal.valid_signals()}

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "workflow" / "lib"
if str(LIBRARY) not in sys.path:
    sys.path.insert(0, str(LIBRARY))

from neurozoo.machine import LightImport  # noqa: E402, found by the line before
from neurozoo.native.processor import processor_flags  # noqa: E402


class SteadyImport(LightImport):
    """Lets TensorFlow add in one order in all processes that run tests, since they share recordings.

    Programs of the project choose for themselves: one thread without oneDNN, or oneDNN where they learn. Here the test
    that comes first would choose for all that follow.
    """

    def find_spec(self, name, path=None, target=None):
        spec = super().find_spec(name, path, target)
        if spec:
            execute = spec.loader.exec_module

            def execute_steadily(module):
                os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # also read by the first operation
                execute(module)
                from neurozoo.agents.frozen import use_one_thread

                use_one_thread()

            spec.loader.exec_module = execute_steadily
        return spec


sys.meta_path.insert(0, SteadyImport())

# Seconds: ends what hangs, and nothing that is only slow because the machine has much else to do.
PATIENCE = 600


def pytest_addoption(parser):
    help = "mark long tests as drawn, for one minute, another choice for each text: a commit"
    parser.addoption("--draw-by", metavar="TEXT", help=help)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Puts slow files first, and draws long tests for `-m "not long or drawn"`.

    The chain is the slowest file; meanwhile the other worker waits for schedulers, which takes no core. What nobody
    runs by hand is played now and then.
    """
    for item in items:
        if (marker := item.get_closest_marker("long")) and marker.args:
            raise pytest.UsageError(f"{item.nodeid}: write long(seconds={marker.args[0]})")
    first = {"workflow": 0, "cluster": 1}
    items.sort(key=lambda item: first.get(item.path.parent.name, 2))
    if (text := config.getoption("draw_by")) is None:
        return
    left = 60  # seconds
    # Those of tests/cluster are left to `make test-cluster`: they injure schedulers, a minute or more each.
    long = [item for item in items if item.get_closest_marker("long") and item.path.parent.name != "cluster"]
    for item in sorted(long, key=lambda item: hashlib.sha256(f"{text} {item.nodeid}".encode()).digest()):
        seconds = item.get_closest_marker("long").kwargs.get("seconds", 15)
        if seconds <= left:
            left -= seconds
            item.add_marker("drawn")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Looks for garbage neither while tests are collected, nor later among what stays: tests and libraries."""
    gc.disable()
    done = yield
    gc.enable()
    gc.collect()
    gc.freeze()
    return done


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    """Gives the process back its variables and handlers of signals, which the library sets for its own processes.

    Programs that a test starts inherit them.
    """
    if os.environ != _VARIABLES:
        os.environ.clear()
        os.environ.update(_VARIABLES)
    for number, handler in _HANDLERS.items():
        if handler is not None and signal.getsignal(number) is not handler:
            signal.signal(number, handler)


def built(path: str) -> Path:
    """Returns a file that the workflow builds, or fails with the command that builds it."""
    if not (ROOT / path).exists():
        pytest.fail(f"{path} is missing; build it: snakemake --cores all {path}", pytrace=False)
    return ROOT / path


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Files that tests compare with."""
    return ROOT / "tests" / "data"


@pytest.fixture(scope="session")
def config_dir() -> Path:
    """Configurations and published genomes that come with the project."""
    return ROOT / "config"


# Section 4.1 of the specification.
_GAMES = """air_raid alien amidar assault asterix asteroids atlantis bank_heist battle_zone beam_rider berzerk
bowling boxing breakout carnival centipede chopper_command crazy_climber demon_attack double_dunk elevator_action enduro
fishing_derby freeway frostbite gopher gravitar hero ice_hockey jamesbond journey_escape kangaroo krull kung_fu_master
montezuma_revenge ms_pacman name_this_game phoenix pitfall pong pooyan private_eye qbert riverraid road_runner robotank
seaquest skiing solaris space_invaders star_gunner tennis time_pilot tutankham up_n_down venture video_pinball
wizard_of_wor yars_revenge zaxxon"""


@pytest.fixture(scope="session")
def published_games() -> list[str]:
    """The games of the published comparisons: 60 of ale-py's."""
    return _GAMES.split()


@pytest.fixture(scope="session")
def core() -> Path:
    """The native core of this checkout."""
    return built("results/native/libneurozoo_core.so")


@pytest.fixture(scope="session")
def bfloat16_core(core: Path) -> Path:
    """The same, where the processor multiplies in bfloat16."""
    if "avx512_bf16" not in processor_flags():
        pytest.skip("this processor has no AVX512-BF16")
    return core


@pytest.fixture(scope="session")
def noise_table() -> Path:
    """The published noise table, 1 GB."""
    return built("results/noise/table.f32")


@pytest.fixture(scope="session")
def noise(noise_table):
    """The published noise table in memory, unverified: `test_noise` verifies it once."""
    from neurozoo.genomes.noise_table import open_noise_table

    return open_noise_table(noise_table, verify=False)


@pytest.fixture(scope="session")
def once(tmp_path_factory) -> Callable:
    """Makes a file or a folder once for all workers: `once("agent-small/frozen", make)` calls `make(path)`.

    `make` writes it whole or not at all; nobody changes it.
    """
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"

    def get(name: str, make: Callable[[Path], object]) -> Path:
        path = shared / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path.with_name(f"{path.name}.lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                make(path)
        return path

    return get


SMALL_TABLE_SIZE = 2_000_000  # values: enough for the network `small`, and quick to verify


@pytest.fixture(scope="session")
def small_noise_table(once) -> Path:
    """The first 2 million values of the published table, in a file of their own."""
    from neurozoo.genomes.noise_table import build_noise_table

    return once("noise/small.f32", lambda path: build_noise_table(path, size=SMALL_TABLE_SIZE))


@pytest.fixture(scope="session")
def evaluators(core, noise_table):
    """Makes evaluators, and closes them at the end: `evaluators(game=..., model=..., protocol=..., threads=...)`.

    Equal requests give the same evaluator, so that its threads have played other things before.
    """
    from neurozoo.environments.games import action_codes
    from neurozoo.environments.protocols import Protocol, get_protocol
    from neurozoo.evaluation.native import NativeEvaluator
    from neurozoo.networks.catalogue import get_network

    made = {}

    def make(*, game: str = "frostbite", model: str = "small", protocol: Protocol | str = "uber2018", threads: int = 1):
        record = get_protocol(protocol) if isinstance(protocol, str) else protocol
        key = (game, model, record, threads)
        if key not in made:
            layout = get_network(model).layout(len(action_codes(game, record.action_set)))
            made[key] = NativeEvaluator(
                core=core, noise=noise_table, layout=layout, game=game, protocol=record, threads=threads
            )
        return made[key]

    yield make
    for evaluator in made.values():
        evaluator.close()


@pytest.fixture(scope="session")
def python():
    """Runs a piece of Python in a process of its own: `python(code, *arguments, check=True)`."""

    def run(code: str, *arguments: object, check: bool = True, prefix: tuple[str, ...] = (), **environment: str):
        command = [*prefix, sys.executable, "-c", code, *map(str, arguments)]
        paths = [str(LIBRARY), *filter(None, [os.environ.get("PYTHONPATH")])]
        result = subprocess.run(
            command,
            text=True,
            capture_output=True,
            timeout=PATIENCE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment},
        )
        assert not check or result.returncode == 0, result.stderr[-4000:]
        return result

    return run


@pytest.fixture(scope="session")
def wait_until() -> Callable:
    """Waits for a function to return something true, and returns that: `wait_until(path.exists, what="no file")`."""

    def wait(happened: Callable, *, what: str = "nothing happened"):
        end = time.monotonic() + PATIENCE
        while not (answer := happened()):
            assert time.monotonic() < end, f"{what} in {PATIENCE} s"
            time.sleep(0.01)
        return answer

    return wait


@pytest.fixture(scope="session")
def snakemake_environment() -> dict[str, str]:
    """The variables of a Snakemake that knows no cluster and brings nothing along: rules have to find the library."""
    # Its Slurm plugin asks for Slurm's settings at every start, and tries for nine seconds where no daemon answers.
    return {"PATH": os.environ["PATH"], "SLURM_CONF": os.devnull}


@pytest.fixture(scope="session")
def small_disk(python, tmp_path_factory):
    """Runs a piece of Python on a real disk of its own that is too small: `small_disk(code, *arguments, size="1m")`.

    The disk is a tmpfs in a mount namespace; `sys.argv[1]` is where it is mounted, further arguments follow. The code
    prints JSON on its last line, which is returned. Functions are there for it: `fill(spare=0)` fills the disk up
    but for `spare` bytes, `free()` empties it again; `refusal(act)` is the sentence with which a call of `act` ends.
    """
    mount = tmp_path_factory.mktemp("disk")
    shell = 'mount -t tmpfs -o size="$0" none "$1" && shift && exec "$@"'

    def prefix(size: str) -> tuple[str, ...]:
        return ("unshare", "-rm", "sh", "-c", shell, size, str(mount))

    try:
        trial = subprocess.run([*prefix("64k"), "true"], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("unshare is not installed")
    if trial.returncode != 0:
        pytest.skip(f"this machine does not permit a disk of one's own: {trial.stderr.strip()}")

    helpers = """
import json, os, sys
from neurozoo.errors import NeurozooError
def refusal(act):
    try:
        act()
    except NeurozooError as error:
        return str(error)
    return "nothing was raised"
def fill(spare=0):
    with open(f"{sys.argv[1]}/.filler", "wb") as file:
        facts = os.statvfs(sys.argv[1])
        os.posix_fallocate(file.fileno(), 0, max(facts.f_bavail * facts.f_frsize - spare, 1))
def free():
    os.unlink(f"{sys.argv[1]}/.filler")
"""

    def run(code: str, *arguments: object, size: str = "1m"):
        result = python(helpers + code, mount, *arguments, prefix=prefix(size))
        return json.loads(result.stdout.splitlines()[-1])

    return run


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium, driven by Selenium, that reaches nothing but files and this machine.

    `browser.complaints()` returns the errors on its console since the last call. Every test shares it: `browser.get`
    opens another page, `browser.set_window_size` and `browser.show_as("dark")` change how pages look.
    """
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        missing = "pages are tested in Chromium, which is missing: apt install chromium chromium-driver"
        if os.environ.get("NEUROZOO_BROWSER") == "required":
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    from selenium import webdriver

    class Browser(webdriver.Chrome):
        def complaints(self) -> list[str]:
            return [entry["message"] for entry in self.get_log("browser") if entry["level"] == "SEVERE"]

        def show_as(self, scheme: str) -> None:
            features = [{"name": "prefers-color-scheme", "value": scheme}]
            self.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

        @contextmanager
        def in_dark_gallery(self):
            """Pages then begin with the theme that a reader chose in the gallery. The store itself may lag behind."""
            script = {"source": "try { localStorage.setItem('neurozoo-theme', 'dark') } catch { /* about:blank */ }"}
            added = self.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", script)
            yield
            self.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
            self.execute_script("localStorage.removeItem('neurozoo-theme')")

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (
        "--headless=new",
        "--no-sandbox",  # which root cannot have
        "--disable-dev-shm-usage",
        "--autoplay-policy=no-user-gesture-required",
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
        "--window-size=1280,900",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with Browser(options=options, service=webdriver.ChromeService(driver)) as opened:
        opened.set_script_timeout(PATIENCE)
        yield opened


@pytest.fixture(scope="session")
def aws_server():
    """Stands in for AWS on this machine; returns its address."""
    server_of = pytest.importorskip("moto.server", reason="needs moto: make foundations")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = server_of.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield f"http://127.0.0.1:{server.get_host_and_port()[1]}"
    server.stop()


@pytest.fixture
def aws(aws_server, monkeypatch):
    """Lets boto3 see the stand-in, empty, and nothing of the user's account; returns the variables that do so."""
    variables = {
        "AWS_ENDPOINT_URL": aws_server,
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_REGION": "eu-central-1",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    urllib.request.urlopen(urllib.request.Request(f"{aws_server}/moto-api/reset", method="POST")).close()
    return variables
