"""What TensorBoard finds in a run's folder."""

import pytest
from neurozoo.errors import NeurozooError
from neurozoo.training.tensorboard import EventWriter
from training_processes import reports


def events_of(folder):
    """Returns the scalars of all event files: names with (step, value)."""
    import tensorflow as tf

    scalars = {}
    for path in sorted(folder.iterdir()):
        for event in tf.compat.v1.train.summary_iterator(str(path)):
            for value in event.summary.value:
                scalars.setdefault(value.tag, []).append((event.step, value.simple_value))
    return scalars


def test_all_numbers_of_a_report_are_scalars_over_the_progress(tmp_path):
    with EventWriter(tmp_path / "events") as events:
        events.report({"score": 1.5, "Iteration": 1, "elite": [1, 2], "is": True, "none": None}, progress=400)
        events.report({"score": 2.5}, progress=800)
    assert events_of(tmp_path / "events") == {"score": [(400, 1.5), (800, 2.5)], "Iteration": [(400, 1.0)]}


def test_a_run_that_continues_keeps_its_events(tmp_path):
    for score in (1.0, 2.0):
        with EventWriter(tmp_path) as events:
            events.report({"score": score}, progress=int(score))
    assert [value for _, value in events_of(tmp_path)["score"]] == [1.0, 2.0]


def test_nothing_is_written_unless_it_is_wanted(tmp_path):
    with EventWriter(None) as events:
        events.report({"score": 1.0}, progress=1)
    assert not list(tmp_path.iterdir())


def test_a_file_in_the_way_is_a_sentence(tmp_path):
    (tmp_path / "events").write_text("")
    with pytest.raises(NeurozooError, match="a file is where a folder"):
        EventWriter(tmp_path / "events" / "deeper")


def test_a_full_disk_is_a_sentence_and_large_numbers_are_written(small_disk):
    said = small_disk(
        """
from pathlib import Path
from neurozoo.errors import NeurozooError
from neurozoo.training.tensorboard import EventWriter

said = []
try:
    with EventWriter(Path(sys.argv[1]) / "events") as events:
        events.report({"score": 1e39}, progress=1)  # beyond float32
        said.append("large")
        fill()
        for step in range(100):
            events.report({"score": 1.0}, progress=step)
except NeurozooError as error:
    said.append(str(error))
print(json.dumps(said))
"""
    )
    assert said[0] == "large"
    assert "could not be written: no space left on device" in said[1]


def test_a_run_writes_what_its_log_says(runner, tmp_path):
    runner.finish(tmp_path, settings={"frames": 1500}, tensorboard=True)
    scalars = events_of(tmp_path / "tensorboard")
    records = reports(tmp_path)
    assert [step for step, _ in scalars["test_score"]] == [record["frames"] for record in records]
    assert [value for _, value in scalars["test_score"]] == [record["test_score"] for record in records]
