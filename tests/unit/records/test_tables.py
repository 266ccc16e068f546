import numpy as np
import pandas as pd
import pytest
from neurozoo.environments.games import reference_scores
from neurozoo.errors import NeurozooError
from neurozoo.records.tables import final_scores, merge_metrics, read_metrics, read_scores, score_table

IDENTITY = {"algo": "ga", "game": "frostbite", "model": "large", "run": 1, "protocol": "uber2018"}


def reports(*test_scores, **identity):
    return pd.DataFrame(
        [
            {**IDENTITY, **identity, "frames": 1000 * number, "score": 0.5, "test_score": score}
            for number, score in enumerate(test_scores, start=1)
        ]
    )


def scores(tmp_path, *runs, **settings):
    settings = {"replications": 500} | settings
    score_table(pd.concat(runs, ignore_index=True), tmp_path / "scores.csv", **settings)
    return pd.read_csv(tmp_path / "scores.csv").set_index("game")


def test_runs_with_different_columns_are_merged_into_one_table(tmp_path):
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    first.write_text(
        "algo,game,model,run,protocol,frames,score,test_score,Iteration\nga,pong,large,1,uber2018,8,1.5,,1\n"
    )
    second.write_text("algo,game,model,run,protocol,frames,score,test_score,Loss\nes,pong,007,2,uber2018,9,,2.0,0.25\n")
    merge_metrics([first, second], csv=tmp_path / "m.csv", parquet=tmp_path / "m.parquet")
    assert (tmp_path / "m.csv").read_text() == (
        "algo,game,model,run,protocol,frames,score,test_score,Iteration,Loss\n"
        "ga,pong,large,1,uber2018,8,1.5,,1,\n"
        "es,pong,007,2,uber2018,9,,2.0,,0.25\n"
    )
    table = read_metrics(tmp_path / "m.parquet")
    assert list(table["model"]) == ["large", "007"]  # a name stays text
    assert str(table["Iteration"].dtype) == "Int64"  # a whole number stays one beside an empty cell
    assert table["Iteration"].isna().tolist() == [False, True]
    assert table["test_score"].isna().tolist() == [True, False]
    pd.testing.assert_frame_equal(table, read_metrics(tmp_path / "m.csv"))


ODD = [
    ('ga,pong,large,1,uber2018,8,1.5,,"a, b"', "1"),
    ('ga,pong,large,1,uber2018,9,1.5,2.5,"two\nlines and ""quotes"""', "2"),
    ("ga,pong,large,1,uber2018,10,,,", "3"),
]
HEAD = "algo,game,model,run,protocol,frames,score,test_score,protocol_note"


def merged(tmp_path, *texts, **options):
    paths = [tmp_path / f"{number}.csv" for number, _ in enumerate(texts)]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text.encode())
    merge_metrics(paths, csv=tmp_path / "m.csv", parquet=tmp_path / "m.parquet", **options)
    return (tmp_path / "m.csv").read_text(), read_metrics(tmp_path / "m.parquet")


@pytest.mark.parametrize("end", ["\n", ""])
def test_lines_are_copied_where_columns_are_equal_and_cells_where_they_are_not(tmp_path, end):
    alike = "\n".join([HEAD, *(line for line, _ in ODD)]) + end
    other = "\n".join([f"Loss,{HEAD}", *(f"{loss},{line}" for line, loss in ODD)]) + end
    text, table = merged(tmp_path, alike, alike, other)
    lines = [f"{line}," for line, _ in ODD]
    assert text == "\n".join([f"{HEAD},Loss", *lines, *lines, *(f"{line},{loss}" for line, loss in ODD)]) + "\n"
    assert table["protocol_note"].tolist()[:2] == ["a, b", 'two\nlines and "quotes"']
    assert table["Loss"].tolist()[6:] == [1, 2, 3]
    assert table["frames"].tolist() == [8, 9, 10] * 3
    pd.testing.assert_frame_equal(table, read_metrics(tmp_path / "m.csv"))


def test_the_type_of_a_field_fits_all_runs(tmp_path):
    head = "algo,game,model,run,protocol,frames,score,test_score,mixed,whole,text,empty,flag,date"
    first, second = (
        "ga,pong,large,1,uber2018,8,1.5,,1,1,1,,True,",
        "ga,pong,large,2,uber2018,8.0,1.5,,0.5,,a,,,2026-11-22",
    )
    _, table = merged(tmp_path, f"{head}\n{first}\n", f"{head}\n{second}\n")
    assert [str(kind) for kind in table.dtypes[8:]] == ["Float64", "Int64", "string", "Int64", "boolean", "string"]
    assert table["frames"].tolist() == [8, 8]
    assert table["mixed"].tolist() == [1, 0.5]
    assert table["text"].tolist() == ["1", "a"]
    assert table["date"].tolist()[1] == "2026-11-22"


def test_what_experiments_want_to_be_called_is_the_last_column(tmp_path):
    rows = [f"{HEAD}\nga,pong,large,{run},uber2018,8,1.5,,x\n" for run in (1, 2)]
    text, table = merged(tmp_path, *rows, labels={"ga/pong/large/2": "mine, all"})
    assert text.splitlines()[1:] == [
        "ga,pong,large,1,uber2018,8,1.5,,x,",
        'ga,pong,large,2,uber2018,8,1.5,,x,"mine, all"',
    ]
    assert table["label"].isna().tolist() == [True, False]
    assert table["label"][1] == "mine, all"


def test_scores_are_read_with_the_columns_that_they_need(tmp_path):
    row = "ga,pong,large,1,uber2018,8,1.5,,x,7"
    merged(tmp_path, f"{HEAD},Iteration\n{row}\n{row}\n")
    whole = read_metrics(tmp_path / "m.parquet").drop(columns="Iteration")
    found = read_scores(tmp_path / "m.parquet")
    assert isinstance(found["protocol_note"].dtype, pd.CategoricalDtype)
    pd.testing.assert_frame_equal(found.astype({"protocol_note": "string"}), whole)
    pd.testing.assert_frame_equal(read_scores(tmp_path / "m.csv"), whole)


# VmHWM, because a process inherits `ru_maxrss` from the one that started it.
PEAK = """
import re, sys
from pathlib import Path
from neurozoo.records.tables import merge_metrics, read_scores
merge_metrics([sys.argv[1]] * int(sys.argv[2]), csv=sys.argv[1] + ".m.csv", parquet=sys.argv[1] + ".parquet")
assert len(read_scores(sys.argv[1] + ".parquet")) == 2500 * int(sys.argv[2])
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) // 1024)
"""


@pytest.mark.long(seconds=8)
def test_a_million_rows_would_fit_into_500_megabytes(tmp_path, python):
    facts = {f"protocol_{number}": "a fact of twenty chars" for number in range(40)}
    reports(*range(2500)).assign(**facts, Loss=0.25).to_csv(tmp_path / "1.csv", index=False)
    few, many = (int(python(PEAK, tmp_path / "1.csv", count).stdout) for count in (20, 100))
    assert few + (many - few) / 80 * 380 < 500


def test_names_of_fields_may_have_commas(tmp_path):
    reports(1, 2).assign(**{"loss, mean": 0.5}).to_csv(tmp_path / "1.csv", index=False)
    merge_metrics([tmp_path / "1.csv"], csv=tmp_path / "m.csv", parquet=tmp_path / "m.parquet")
    assert read_metrics(tmp_path / "m.csv")["loss, mean"].tolist() == [0.5] * 2
    assert (tmp_path / "m.csv").read_bytes() == (tmp_path / "1.csv").read_bytes()


def test_merging_twice_gives_the_same_bytes(tmp_path):
    reports(1, 2).to_csv(tmp_path / "1.csv", index=False)
    for name in "ab":
        merge_metrics([tmp_path / "1.csv"], csv=tmp_path / f"{name}.csv", parquet=tmp_path / f"{name}.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


@pytest.mark.parametrize(
    ("content", "message"), [(None, "is missing"), ("", "lacks algo"), ("frames,score\n1,2\n", "lacks algo")]
)
def test_a_file_that_is_no_metrics_table_is_named(tmp_path, content, message):
    if content is not None:
        (tmp_path / "1.csv").write_text(content)
    with pytest.raises(NeurozooError, match=f"1.csv .*{message}"):
        merge_metrics([tmp_path / "1.csv"], csv=tmp_path / "m.csv", parquet=tmp_path / "m.parquet")
    assert not (tmp_path / "m.csv").exists()


def test_a_row_with_too_many_cells_is_an_error_that_names_the_file(tmp_path):
    reports(1).to_csv(tmp_path / "1.csv", index=False)
    with open(tmp_path / "1.csv", "a") as file:
        file.write("ga,pong,large,1,uber2018,8,1.5,2,3,4\n")
    with pytest.raises(NeurozooError, match=r"1.csv is not a metrics table"):
        merge_metrics([tmp_path / "1.csv"], csv=tmp_path / "m.csv", parquet=tmp_path / "m.parquet")
    assert not (tmp_path / "m.csv").exists()


def test_a_genome_of_any_length_fits_a_cell(tmp_path):
    reports(1).assign(Genome="1" * 200_000).to_csv(tmp_path / "1.csv", index=False)
    merge_metrics([tmp_path / "1.csv"], csv=tmp_path / "m.csv", parquet=tmp_path / "m.parquet")
    assert len((tmp_path / "m.csv").read_text()) > 200_000


def test_text_in_place_of_a_number_is_an_error_that_names_the_file(tmp_path):
    reports(1).astype({"score": object}).replace(0.5, "high").to_csv(tmp_path / "m.csv", index=False)
    with pytest.raises(NeurozooError, match=r"m.csv is not a metrics table .*high"):
        read_metrics(tmp_path / "m.csv")


def test_another_good_table_is_not_called_damaged(tmp_path):
    (tmp_path / "scores.csv").write_text("algo,game,scope,score\nga,pong,run,1\n")
    with pytest.raises(NeurozooError) as caught:
        read_metrics(tmp_path / "scores.csv")
    assert "Give a metrics.csv or metrics.parquet, such as results/tables/metrics.parquet." in str(caught.value)
    assert "If Snakemake made it as one, it is damaged: delete it" in str(caught.value)


def test_a_folder_is_answered_with_the_table_in_it(tmp_path):
    with pytest.raises(NeurozooError, match=rf"{tmp_path} is a folder. Give .*such as {tmp_path}/metrics.csv"):
        read_metrics(tmp_path)


def test_the_final_score_is_the_last_that_was_tested():
    table = pd.concat([reports(5, 7, np.nan), reports(np.nan, run=2), reports(9, 3, run=3)], ignore_index=True)
    final = final_scores(table)
    assert final[["run", "frames", "test_score"]].to_numpy().tolist() == [[1, 2000, 7], [3, 2000, 3]]


def test_a_games_row_has_mean_median_and_human_normalised_mean(tmp_path):
    random, human = reference_scores()["frostbite"]
    table = scores(tmp_path, reports(0, 100), reports(200, run=2), reports(600, run=3))
    row = table.loc["frostbite"]
    assert (row["runs"], row["games"], row["frames"]) == (3, 1, 1000)  # frames of the shortest run
    assert np.isnan(row["episodes"])  # these logs do not say
    assert (row["score_mean"], row["score_median"], row["score_iqm"]) == (300, 200, 300)
    assert row["human_normalised_mean"] == pytest.approx((300 - random) / (human - random), rel=1e-7)


def test_the_row_over_all_games_pools_human_normalised_scores(tmp_path):
    anchors = {game: reference_scores()[game] for game in ("pong", "breakout")}

    def points(game, normalised):
        random, human = anchors[game]
        return random + normalised * (human - random)

    runs = [reports(points("pong", n), game="pong", run=i) for i, n in enumerate((0, 0.2, 0.4, 3), start=1)]
    runs += [reports(points("breakout", n), game="breakout", run=i) for i, n in enumerate((0.1, 0.3, 0.5, -7), start=1)]
    row = scores(tmp_path, *runs).loc["all"]
    assert (row["games"], row["runs"], row["frames"]) == (2, 8, 1000)
    # Sorted: -7 0 | 0.1 0.2 0.3 0.4 | 0.5 3
    assert row["human_normalised_iqm"] == pytest.approx(0.25)
    assert row["human_normalised_mean"] == pytest.approx((3.6 / 4 - 6.1 / 4) / 2)
    assert row["human_normalised_median"] == pytest.approx((3.6 / 4 - 6.1 / 4) / 2)
    assert row["human_normalised_optimality_gap"] == pytest.approx(1 - (1.6 - 6.1) / 8)
    assert np.isnan(row["score_mean"])  # points of different games have no mean


def test_a_game_without_human_score_has_points_only_and_stays_out_of_the_aggregate(tmp_path):
    table = scores(tmp_path, reports(5, game="hard_maze"), reports(7, game="pong"))
    assert table.loc["hard_maze", "score_mean"] == 5
    assert np.isnan(table.loc["hard_maze", "human_normalised_mean"])
    assert table.loc["all", "games"] == 1
    assert "all" not in scores(tmp_path, reports(5, game="hard_maze")).index


def test_unequal_numbers_of_runs_work_and_four_runs_have_no_interval(tmp_path):
    pong = [reports(score, game="pong", run=score) for score in range(1, 6)]
    table = scores(tmp_path, *pong, *(reports(score, run=score) for score in range(1, 5)))
    assert table.loc["frostbite", "run_scores"] == "1:1 2:2 3:3 4:4"
    assert not np.isnan(table.loc["pong", "score_mean_low"])
    assert np.isnan(table.loc["frostbite", "score_mean_low"])
    assert np.isnan(table.loc["all", "human_normalised_iqm_low"])
    assert not np.isnan(table.loc["all", "human_normalised_iqm"])


def test_the_fewest_episodes_of_a_run_are_named(tmp_path):
    runs = [reports(1, 2, game="pong").assign(test_episodes=[5, 30])]
    runs += [reports(3, game="pong", run=2).assign(test_episodes=20), reports(3).assign(test_episodes=pd.NA)]
    table = scores(tmp_path, *runs)
    assert table.loc["pong", "episodes"] == 20
    assert np.isnan(table.loc["all", "episodes"])
    assert ",nan" not in (tmp_path / "scores.csv").read_text()


def test_networks_algorithms_and_protocols_have_rows_of_their_own(tmp_path):
    runs = [reports(1), reports(2, model="small"), reports(3, algo="rs"), reports(4, protocol="machado2018")]
    assert scores(tmp_path, *runs).loc["frostbite", "score_mean"].tolist() == [1, 2, 3, 4]


def test_runs_of_different_settings_are_not_pooled_and_are_named(tmp_path):
    def runs(key, power, first, *values):
        facts = {"settings": key, "settings_mutation_power": power, "protocol_max_frames": "400000"}
        return [reports(value, run=first + n).assign(**facts) for n, value in enumerate(values)]

    found = scores(tmp_path, *runs("aa", "0.0005", 1, 102, 251), *runs("bb", "0.5", 3, 471, 499)).loc["frostbite"]
    assert found[["variant", "runs", "score_mean"]].to_numpy().tolist() == [
        ["mutation_power 0.0005", 2, 176.5], ["mutation_power 0.5", 2, 485.0],
    ]  # fmt: skip
    assert found[["settings", "played"]].to_numpy().tolist() == [["aa", "uber2018"], ["bb", "uber2018"]]
    assert found["protocol_max_frames"].tolist() == [400_000] * 2


def test_runs_that_were_played_differently_under_one_name_are_not_pooled(tmp_path):
    table = pd.concat([reports(1), reports(5, run=2)], ignore_index=True).assign(settings="aa", protocol_frame_skip="4")
    pooled = scores(tmp_path, table)
    assert pooled.loc["frostbite", "runs"] == 2
    table["evaluation_cutoff"] = ["none", "5000"]
    apart = scores(tmp_path, table).loc["frostbite"]
    assert apart["played"].tolist() == ["uber2018, test cutoff none", "uber2018, test cutoff 5000"]
    assert apart["runs"].tolist() == [1, 1]


def test_what_logs_of_published_codes_lack_is_unknown_in_the_table(tmp_path):
    new = reports(7, run=2).assign(settings="aa", protocol_frame_skip="4")
    found = scores(tmp_path, reports(5), new).loc["frostbite"]
    assert found["settings"].tolist() == ["unknown", "aa"]
    assert found["protocol_frame_skip"].tolist() == ["unknown", "4"]
    assert found["variant"].fillna("").tolist() == ["settings unknown", ""]
    assert found["played"].tolist() == ["uber2018, unknown", "uber2018"]
    assert scores(tmp_path, reports(5)).loc["frostbite", "settings"] == "unknown"


def test_facts_stay_text_and_labels_join_the_runs_of_their_experiments(tmp_path):
    for run, key in ((1, "000000000012"), (2, "12e456789012")):
        facts = {"settings": key, "settings_size": "1", "protocol_observation": "none", "evaluation_epsilon": "0"}
        reports(1, run=run).assign(**facts).to_csv(tmp_path / f"{run}.csv", index=False)
    paths = {"csv": tmp_path / "m.csv", "parquet": tmp_path / "m.parquet"}
    merge_metrics([tmp_path / "1.csv", tmp_path / "2.csv"], **paths, labels={"ga/frostbite/large/2": "mine"})
    table = read_metrics(paths["parquet"])
    assert table["settings"].tolist() == ["000000000012", "12e456789012"]
    assert table["protocol_observation"].tolist() == ["none", "none"]
    assert table["label"].fillna("").tolist() == ["", "mine"]
    assert final_scores(table)["variant"].tolist() == ["000000000012", "mine"]
    pd.testing.assert_frame_equal(table, read_metrics(paths["csv"]))


def test_the_table_has_the_same_bytes_for_the_same_seed_and_others_for_another(tmp_path):
    runs = [reports(score, run=run) for run, score in enumerate(np.random.default_rng(0).normal(size=9), start=1)]
    texts = []
    for seed in (3, 3, 4):
        scores(tmp_path, *runs, seed=seed)
        texts.append((tmp_path / "scores.csv").read_bytes())
    assert texts[0] == texts[1] != texts[2]


def test_one_games_interval_does_not_depend_on_which_other_games_there_are(tmp_path):
    pong = [reports(score, game="pong", run=run) for run, score in enumerate((1, 5, 9, 20, 11), start=1)]
    alone = scores(tmp_path, *pong).loc["pong", "score_mean_high"]
    assert scores(tmp_path, reports(1), reports(2, run=2), *pong).loc["pong", "score_mean_high"] == alone


def test_nothing_tested_is_an_error_with_a_remedy(tmp_path):
    with pytest.raises(NeurozooError, match="No run has a test_score"):
        scores(tmp_path, reports(np.nan))


def test_a_parquet_of_something_else_is_no_metrics_table(tmp_path):
    pd.DataFrame({"frames": [1], "reward": [2.0]}).to_parquet(tmp_path / "rollout.parquet")
    with pytest.raises(NeurozooError, match=r"rollout.parquet is not a metrics table \(it lacks algo, .*test_score\)"):
        read_metrics(tmp_path / "rollout.parquet")
    (tmp_path / "m.parquet").write_bytes(b"PAR1 half")
    with pytest.raises(NeurozooError, match=r"is not a metrics table .*If Snakemake made it as one, it is damaged"):
        read_metrics(tmp_path / "m.parquet")


def test_the_last_test_is_the_one_after_most_frames_whatever_the_order_of_rows():
    rows = [
        {"algo": "ga", "game": "pong", "model": "large", "run": run, "protocol": "uber2018", "frames": frames,
         "score": 0.0, "test_score": float(frames)}
        for run, frames in ((2, 3000), (2, 1000), (1, 500), (1, 900))
    ]  # fmt: skip
    found = final_scores(pd.DataFrame(rows))
    assert found[["run", "frames", "test_score"]].to_numpy().tolist() == [[2, 3000, 3000], [1, 900, 900]]


def test_runs_that_count_evaluations_have_final_scores_without_frames(tmp_path):
    rows = "".join(f"ga,pong,large,1,own,{evaluations},1,{score}\n" for evaluations, score in ((200, 5), (100, 3)))
    (tmp_path / "metrics.csv").write_text("algo,game,model,run,protocol,evaluations,score,test_score\n" + rows)
    final = final_scores(read_metrics(tmp_path / "metrics.csv"))
    assert (final["test_score"].tolist(), final["frames"].isna().all()) == ([5], True)
    score_table(read_metrics(tmp_path / "metrics.csv"), tmp_path / "scores.csv")


def test_infinite_scores_are_refused(tmp_path):
    """One of them would make a mean infinite, and its interval empty."""
    (tmp_path / "metrics.csv").write_text(
        "algo,game,model,run,protocol,frames,score,test_score\nga,pong,large,1,own,100,1,inf\n"
    )
    with pytest.raises(NeurozooError, match="test_score should be finite or empty"):
        read_metrics(tmp_path / "metrics.csv")
