"""Small frozen agents, made without the native core: Python environments and Keras play their episodes."""

import json
import shutil

import numpy as np
import pytest

GAMES = {"small": "breakout", "large": "frostbite", "recurrent_large": "carnival"}


@pytest.fixture(scope="session")
def agent():
    """Makes a checkpoint with random weights: `agent(model, game=..., protocol=...)`."""
    from neurozoo.agents.checkpoint import Checkpoint
    from neurozoo.environments.game_networks import layout_of
    from neurozoo.environments.protocols import protocol_of

    def make(model="small", *, game=None, protocol=None, observation=None, algo="ga", seed=1):
        game = game or GAMES[model]
        record = protocol_of(game, protocol, observation=observation)
        layout = layout_of(game, model, record)
        random = np.random.default_rng(seed)
        noise = random.standard_normal(layout.parameter_count).astype(np.float32)
        theta = layout.initialise(noise) + np.float32(0.01) * noise  # biases, too
        rows = 2 if layout.needs_statistics else 16  # mean and deviation, or a batch
        reference = random.random((rows, *layout.observation_shape), np.float32) if layout.needs_reference else None
        return Checkpoint(theta, algo, game, model, 1, record, layout.num_actions, reference)

    return make


@pytest.fixture(scope="session")
def played():
    """Records an agent's episode: `played(checkpoint, steps)`."""
    import tensorflow as tf
    from neurozoo.environments import make_world
    from neurozoo.evaluation import Trace

    def record(checkpoint, steps=20):
        model = checkpoint.layout.keras_model(checkpoint.theta, checkpoint.reference)
        world = make_world(checkpoint.game, checkpoint.protocol)
        observation = world.reset(noops=1)
        planes, logits, rewards = [], [], []
        while not world.is_done and len(planes) < steps:
            planes.append(world.plane)
            logits.append(model(tf.constant(observation[None])).numpy()[0])
            observation, reward, _ = world.act(logits[-1])
            rewards.append(reward)
        logits = np.array(logits)
        return Trace(np.array(planes), logits, np.array(rewards, np.float32))

    return record


@pytest.fixture(scope="session")
def frozen_folder(agent, played, once):
    """Freezes an agent once for all tests: `frozen_folder(model, game=..., protocol=...)`."""
    from neurozoo.agents.freeze import freeze

    def make(model="small", **choices):
        def make_frozen(folder):
            checkpoint = agent(model, **choices)
            freeze(checkpoint, folder, trace=played(checkpoint), scores={"test_score": 7.0, "other": 1})

        return once(
            f"agent-{'-'.join([model, *(f'{key}_{value}' for key, value in choices.items())])}/frozen", make_frozen
        )

    return make


@pytest.fixture(scope="session")
def policy():
    """Makes a checkpoint of a Keras network with random weights, with its action rule: `policy(model, game=...)`.

    `protocol` is the name of one; by default `machado2018`, with the game's own actions.
    """
    from neurozoo.agents.checkpoint import Checkpoint
    from neurozoo.environments.game_networks import keras_layout_of
    from neurozoo.environments.protocols import protocol_of

    def make(model="impala_shallow_lstm", *, game="breakout", protocol=None, seed=1):
        chosen = protocol_of(game, protocol) if protocol else protocol_of(game, "machado2018", action_set="minimal")
        layout = keras_layout_of(game, model, chosen)
        random = np.random.default_rng(seed)
        theta = layout.draw(random) + random.normal(0, 0.02, layout.parameter_count).astype(np.float32)  # biases, too
        rule = "greedy" if layout.network.head == "q_values" else "sampled"
        return Checkpoint(theta, "impala", game, model, 1, chosen, layout.num_actions, action_rule=rule)

    return make


@pytest.fixture(scope="session")
def policy_folder(policy, once):
    """Freezes such a policy once for all tests: `policy_folder(model, game=...)`."""
    from neurozoo.agents.freeze import freeze

    def make(model="impala_shallow_lstm", **choices):
        return once(
            "-".join(["policy", model, *choices.values()]) + "/frozen",
            lambda folder: freeze(policy(model, **choices), folder, steps=12, scores={"test_score": 7.0}),
        )

    return make


@pytest.fixture
def own_copy(frozen_folder, tmp_path):
    """A frozen folder that a test may damage."""
    return shutil.copytree(frozen_folder("small"), tmp_path / "frozen")


@pytest.fixture
def own_copy_under(own_copy):
    """Changes the protocol of the model in `own_copy`, and returns its folder: `own_copy_under(max_frames=8)`."""

    def change(**facts):
        record = json.loads((own_copy / "model.json").read_text())
        record["protocol"] |= facts
        (own_copy / "model.json").write_text(json.dumps(record))
        return own_copy

    return change


@pytest.fixture(scope="session")
def rollout_file(frozen_folder, once):
    """Records a rollout once for all tests: `rollout_file(model, max_steps=...)`."""
    from neurozoo.rollouts.rollout import record_rollout

    def make(model="small", *, max_steps=40):
        frozen = frozen_folder(model)  # before the lock of the rollout
        return once(
            f"rollout-{model}-{max_steps}/rollout.npz",
            lambda path: record_rollout(frozen, path, max_steps=max_steps, noops=1),
        )

    return make


@pytest.fixture(scope="session")
def decode():
    """Returns a function from a video to its frames, uint8 (frames, height, width, 3), and what ffmpeg says of it."""
    import imageio_ffmpeg

    def read(path):
        reader = imageio_ffmpeg.read_frames(str(path))
        facts = next(reader)
        width, height = facts["size"]
        frames = np.array([np.frombuffer(frame, np.uint8).reshape(height, width, 3) for frame in reader])
        return frames, facts

    return read


@pytest.fixture(scope="session")
def rewritten():
    """Returns a function that copies an `.npz` with other arrays: `rewritten(path, target, score=...)`."""

    def write(path, target, **changes):
        with np.load(path) as file:
            arrays = {key: file[key] for key in file}
        np.savez_compressed(target, **{**arrays, **changes})
        return target

    return write
