"""What `neurozoo show` prints."""

import re

import pytest
from neurozoo.errors import NeurozooError
from neurozoo.gallery.summary import describe_results


def test_the_results_are_described_with_scores_intervals_and_the_paths_of_movies(tmp_path):
    tables, run = tmp_path / "tables", tmp_path / "runs" / "ga" / "pong" / "large" / "1"
    tables.mkdir()
    run.mkdir(parents=True)
    (run / "activation.mp4").touch()
    (tables / "scores.csv").write_text(
        "algo,model,protocol,played,game,games,runs,episodes,frames,"
        "score_mean,score_mean_low,score_mean_high,human_normalised_mean\n"
        "ga,large,uber2018,uber2018,pong,1,2,30,4000,12.5,11,14,0.9\n"
        "ga,large,uber2018,uber2018,all,1,2,30,4000,,,,0.9\n"
    )
    text = describe_results(tmp_path)
    assert "11.0 to 14.0" in text
    assert "0.900" in text
    assert re.search(r" 2 +30 +4,000 .* uber2018", text)  # runs, episodes, frames, protocol
    assert str(run / "activation.mp4") in text
    assert " all " not in text
    assert "Open the gallery" not in text


def test_the_description_ends_with_what_to_open(tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "scores.csv").write_text("algo,model,protocol,game,games,runs,episodes,frames,score_mean\n")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").touch()
    assert describe_results(tmp_path).splitlines()[-1] == f"Open the gallery: {tmp_path / 'site' / 'index.html'}"


def test_describing_results_that_are_not_there_says_how_to_make_them(tmp_path):
    with pytest.raises(NeurozooError, match="snakemake"):
        describe_results(tmp_path)
