"""The networks of a generator have the published sizes; its training continues to the same weights."""

import json
from dataclasses import replace

import keras
import numpy as np
import pytest
from level_runs import trained
from neurozoo.__main__ import main
from neurozoo.algorithms.quality_diversity.generator_settings import GENERATOR_PRESETS, generator_settings
from neurozoo.algorithms.quality_diversity.generator_training import GeneratorTraining, level_chances, train_generator
from neurozoo.algorithms.quality_diversity.level_networks import (
    as_tiles,
    critic_network,
    export,
    generator_network,
    real_tiles,
    slope_penalty,
)
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.environments.platformer.acceptance import judge
from neurozoo.environments.platformer.corpus import Corpus, kept_corpus, read_corpus, write_corpus
from neurozoo.environments.platformer.generator import Generator
from neurozoo.errors import NeurozooError

TINY = replace(GENERATOR_PRESETS["demo"], channels=2, batch_size=4, steps=4, averaging=0.9)
CORPUS = Corpus(np.random.default_rng(0).integers(0, 17, (8, 16, 56)).astype(np.uint8), np.ones(8, bool), 0, 0)


def count(network):
    return sum(int(np.prod(each.shape)) for each in network.trainable_weights)


def test_the_published_networks_have_the_published_numbers_of_parameters():
    rng, settings = np.random.default_rng(0), GENERATOR_PRESETS["paper"]
    generator, critic = generator_network(settings, rng), critic_network(settings, rng)
    assert (count(generator), count(critic)) == (3_033_984, 2_779_904)
    assert generator.output_shape == (None, 64, 64, 17)
    first = generator.layers[1].get_weights()[0]
    assert abs(first.std() - 0.02) < 1e-4


@pytest.mark.parametrize(("kind", "picture"), [("wgan", "square"), ("wgan_gp", "level")])
def test_an_exported_generator_makes_the_levels_of_the_network(kind, picture):
    rng, settings = np.random.default_rng(1), replace(TINY, kind=kind, picture=picture)
    network = generator_network(settings, rng)
    for weight in network.weights:  # statistics of batch normalisation, too
        values = rng.standard_normal(weight.shape)
        weight.assign(np.abs(values) if "variance" in weight.path else values)
    solutions = rng.standard_normal((5, 32)).astype(np.float32)
    shown = np.asarray(as_tiles(network(solutions, training=False), settings))
    np.testing.assert_array_equal(export(network, settings).decode(solutions), shown[:, :16, :56].argmax(axis=-1))


def test_real_levels_are_filled_up_with_air():
    tiles = np.asarray(real_tiles(CORPUS.levels, replace(TINY, picture="square")))
    np.testing.assert_array_equal(tiles[:, :16, :56].argmax(axis=-1), CORPUS.levels)
    assert (tiles[:, 16:].argmax(axis=-1) == 0).all()
    assert (tiles.sum(axis=-1) == 1).all()


def test_the_penalty_is_that_of_the_slopes():
    inputs = keras.Input((2, 3, 17))
    critic = keras.Model(inputs, keras.layers.Dense(1, use_bias=False)(keras.layers.Flatten()(inputs))[:, 0])
    slope = np.linalg.norm(critic.get_weights()[0])  # of a linear critic, everywhere
    rng = np.random.default_rng(0)
    real, fake = (rng.random((4, 2, 3, 17), np.float32) for _ in range(2))
    found = float(slope_penalty(critic, real, fake, rng.random(4, np.float32)))
    assert found == pytest.approx((slope - 1) ** 2, rel=1e-4)


def test_levels_with_rare_tiles_are_drawn_more_often():
    levels = np.zeros((8, 16, 56), np.uint8)  # air
    levels[:4, 3, 3] = 1
    levels[0, 5, 5] = 2  # in one of eight
    np.testing.assert_allclose(level_chances(levels, 0.0), 1 / 8)
    chances = level_chances(levels, 0.5)
    assert chances.sum() == pytest.approx(1)
    np.testing.assert_allclose(chances / chances[-1], [8**0.5, *[2**0.5] * 3, 1, 1, 1, 1])
    np.testing.assert_allclose(level_chances(levels, 1.0)[0] / level_chances(levels, 1.0)[-1], 8)


def test_a_penalty_draws_the_logits_towards_zero():
    solutions, sizes = np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32), []
    for penalty in (0.0, 1000.0):
        training = GeneratorTraining(replace(TINY, learning_rate=0.01, logit_penalty=penalty), CORPUS.levels)
        for _ in range(20):
            training.advance()
        sizes.append(float(np.abs(np.asarray(training._generator(solutions, training=True))).mean()))
    assert sizes[1] < sizes[0] / 3


def test_the_critic_of_wgan_has_small_weights_and_is_trained_more_often_at_first():
    settings = generator_settings("paper", {})
    assert [settings.critic_steps_before(step) for step in (0, 24, 25, 499, 500, 501)] == [100, 100, 5, 5, 100, 5]
    training = GeneratorTraining(replace(TINY, kind="wgan", more_critic_steps=2, learning_rate=0.1), CORPUS.levels)
    training.advance()
    largest = max(float(np.abs(np.asarray(each)).max()) for each in training._critic.trainable_weights)
    assert largest == pytest.approx(0.01)


def test_a_training_that_was_interrupted_gives_the_same_generator(tmp_path):
    lines: list[str] = []
    whole = train_generator(TINY, CORPUS, state=tmp_path / "whole.npz", report=lines.append)
    begun = train_generator(replace(TINY, steps=2), CORPUS, state=tmp_path / "state.npz", report=lines.append)
    continued = train_generator(TINY, CORPUS, state=tmp_path / "state.npz", report=lines.append)
    assert any("Continuing after 2 updates" in line for line in lines)
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(array, continued.arrays[name])
    assert (begun.arrays["kernel_1"] != whole.arrays["kernel_1"]).any()
    with pytest.raises(NeurozooError, match="other settings or levels"):
        train_generator(replace(TINY, seed=5), CORPUS, state=tmp_path / "state.npz")
    with pytest.raises(NeurozooError, match=r"has 4 updates already, but steps is 3\. Ask for at least as many"):
        train_generator(replace(TINY, steps=3), CORPUS, state=tmp_path / "state.npz")
    (tmp_path / "state.npz").write_bytes(b"PK")
    with pytest.raises(NeurozooError, match=r"cannot be continued.*Delete it"):
        train_generator(TINY, CORPUS, state=tmp_path / "state.npz")


def test_weights_are_read_for_all_gradients_before_one_of_them_changes():
    # In the graph that TensorFlow runs, not in the one that it was given.
    from tensorflow.python.eager import context

    training = GeneratorTraining(TINY, CORPUS.levels)
    context.enable_run_metadata()
    try:
        training.advance()
        graphs = context.export_run_metadata().partition_graphs
    finally:
        context.disable_run_metadata()
    checked = 0
    for graph in graphs:
        before = {node.name: [name.lstrip("^").partition(":")[0] for name in node.input] for node in graph.node}
        for change in (node for node in graph.node if node.op == "AssignSubVariableOp"):
            known, new = set(), [change.name]
            while new:
                known.update(new)
                new = [name for each in new for name in before[each] if name not in known]
            reads = [
                node.name for node in graph.node if node.op == "ReadVariableOp" and node.input[0] == change.input[0]
            ]
            checked += len(reads)
            assert known.issuperset(reads), change
    assert checked >= 4 * 3 + 10  # each weight of the critic three times, each of the generator


def test_drawn_levels_are_kept_in_a_file(tmp_path):
    write_corpus(tmp_path / "levels.npz", replace(CORPUS, num_rejected=3, seed=7))
    found = kept_corpus(tmp_path / "levels.npz", 7, count=8)
    np.testing.assert_array_equal(found.levels, CORPUS.levels)
    assert found.num_rejected == 3
    with pytest.raises(NeurozooError, match="holds 8 levels of the seed 7, but the settings name 9"):
        kept_corpus(tmp_path / "levels.npz", 7, count=9)
    np.savez(tmp_path / "other.npz", levels=np.full((1, 16, 56), 17, np.uint8), is_won=[True], num_rejected=0, seed=0)
    with pytest.raises(NeurozooError, match="unknown tile 17"):
        read_corpus(tmp_path / "other.npz")
    with pytest.raises(NeurozooError, match="missing"):
        read_corpus(tmp_path / "none.npz")


def check_in_mazes(decoder):
    settings = resolve_settings("cma_me", preset="demo", overrides={"decoder": decoder})
    settings.check(settings.domain("maze"))


def test_settings_are_checked():
    assert generator_settings("laptop", {"steps": 1e3}).steps == 1000
    with pytest.raises(NeurozooError, match="laptop"):
        generator_settings("labtop", {})
    with pytest.raises(NeurozooError, match="steps"):
        generator_settings("laptop", {"stebs": 3})
    for decoder, sentence in (("grammer", "grammar or the path"), ("x.npz", "no generator decodes")):
        with pytest.raises(NeurozooError, match=sentence):
            check_in_mazes(decoder)


@pytest.mark.long(seconds=7)
def test_a_search_goes_through_the_levels_of_a_generator(tmp_path, core, monkeypatch):
    monkeypatch.chdir(core.parents[2])
    network = generator_network(TINY, np.random.default_rng(0))
    export(network, TINY).write(tmp_path / "generator.npz")
    changes = {"agent": "a_star", "num_episodes": 1, "evaluations": 8, "decoder": str(tmp_path / "generator.npz")}
    run_dir = trained(tmp_path / "1", "domain_randomization", game="mario", core=core, **changes)
    with np.load(run_dir / "archive.npz") as arrays:
        shown = export(network, TINY).decode(arrays["solutions"])
        is_end = np.isin(arrays["metadata_level"], (10, 13)) | np.isin(shown, (10, 13))  # which may be taken out
        assert len(shown)
        np.testing.assert_array_equal(np.where(is_end, 0, shown), np.where(is_end, 0, arrays["metadata_level"]))
    (tmp_path / "generator.npz").unlink()
    with pytest.raises(NeurozooError, match="missing"):
        trained(tmp_path / "2", "domain_randomization", game="mario", core=core, **changes)


def test_the_command_trains_a_generator_and_judges_it(tmp_path, core, monkeypatch, capsys):
    from neurozoo.algorithms.quality_diversity import generator_training

    monkeypatch.chdir(core.parents[2])
    monkeypatch.setattr(generator_training, "judge", lambda decoder, **given: judge(decoder, **given | {"count": 3}))
    levels = np.repeat(CORPUS.levels, 13, axis=0)[:100]
    write_corpus(tmp_path / "levels.npz", replace(CORPUS, levels=levels, is_won=np.ones(100, bool), seed=1))
    changes = [word for name in ("steps=2", "channels=2", "corpus=100", "batch_size=4") for word in ("--set", name)]
    main(["train-generator", str(tmp_path), "--preset", "demo", *changes])
    assert "not accepted because of" in capsys.readouterr().out
    record = json.loads((tmp_path / "generator.json").read_text())
    generator = Generator.read(tmp_path / "generator.npz")
    assert record["parameters"] == sum(array.size for array in generator.arrays.values()) - 1
    assert record["settings"]["steps"] == 2
    assert record["acceptance"]["levels"] == 3
    main(["train-generator", str(tmp_path), "--preset", "demo", *changes, "--json"])
    said = capsys.readouterr()
    assert json.loads(said.out) == record["acceptance"]
    assert "Continuing after 2 updates" in said.err
    assert (tmp_path / "state" / "state.npz").exists()  # where the rule has it
