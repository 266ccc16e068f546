import numpy as np
import pandas as pd
import pytest
from neurozoo.records.improvement import comparison_table

RUN = {"algo": "ga", "game": "pong", "model": "large", "run": 1, "protocol": "uber2018", "settings": "5e77"}
FACTS = {"protocol_action_set": "minimal", "evaluation_epsilon": "0"}


def run_of(score, **identity):
    return {**RUN, "frames": 1000, "score": 0.5, "test_score": score, "test_episodes": 30, **FACTS, **identity}


def table(tmp_path, *runs, **settings):
    settings = {"replications": 300} | settings
    comparison_table(pd.DataFrame(runs), tmp_path / "comparison.csv", **settings)
    return pd.read_csv(tmp_path / "comparison.csv")


def test_each_pair_has_a_row_per_shared_game_and_one_over_them(tmp_path):
    runs = [run_of(1), run_of(3, run=2), run_of(2, algo="es"), run_of(7, game="skiing")]
    runs += [run_of(9, game="skiing", algo="es", test_episodes=10, frames=500), run_of(0, game="hero")]
    found = table(tmp_path, *runs)
    # Of the pairs in Pong 1 > 2 is false and 3 > 2 is true; in Skiing 7 > 9 is false.
    assert found[["game", "games", "probability"]].to_numpy().tolist() == [
        ["pong", 1, 0.5], ["skiing", 1, 0.0], ["all", 2, 0.25],
    ]  # fmt: skip
    assert found[["algo", "other_algo"]].drop_duplicates().to_numpy().tolist() == [["ga", "es"]]
    assert found[["runs", "other_runs"]].to_numpy().tolist() == [[2, 1], [1, 1], [3, 2]]
    assert found[["episodes", "other_episodes"]].to_numpy().tolist() == [[30, 30], [30, 10], [30, 10]]
    assert found[["frames", "other_frames"]].to_numpy().tolist() == [[1000, 1000], [1000, 500], [1000, 500]]


def test_fewer_than_five_runs_leave_interval_and_p_empty(tmp_path):
    runs = [run_of(score, algo=algo, run=score) for algo, count in (("ga", 5), ("es", 4)) for score in range(1, count)]
    assert table(tmp_path, *runs)[["probability_low", "probability_high", "p", "p_holm"]].isna().all(axis=None)
    assert "nan" not in (tmp_path / "comparison.csv").read_text()


def test_p_is_corrected_for_all_pairs_and_certainty_has_no_interval(tmp_path):
    runs = [
        run_of(score + 10 * shift, algo=algo, run=score)
        for algo, shift in (("ga", 2), ("es", 1), ("rs", 0))
        for score in range(1, 6)
    ]
    found = table(tmp_path, *runs)
    of_game = found[found["game"] == "pong"]
    assert of_game["p"].to_numpy() == pytest.approx([2 / 252] * 3)
    assert of_game["p_holm"].to_numpy() == pytest.approx([6 / 252] * 3)
    assert (found["probability"] == 1).all()
    assert found[["probability_low", "probability_high"]].isna().all(axis=None)
    assert found.loc[found["game"] == "all", "p"].isna().all()


def test_games_won_to_nil_by_chance_are_a_lottery_and_in_no_pooled_row(tmp_path):
    # Two of ten games 21:0, the others 0:21, is -12.6; -3.2 is no such mean.
    runs = [run_of(score, algo="ga", run=run, test_episodes=10) for run, score in enumerate((-12.6, -4.2, -21), 1)]
    runs += [
        run_of(score, algo="dqn", run=run, test_episodes=10) for run, score in enumerate((-4.2, -3.2, 0.6, -19), 1)
    ]
    runs += [run_of(7, algo=algo, game="skiing") for algo in ("ga", "dqn")]
    found = table(tmp_path, *runs).set_index("game")
    assert found.loc["all", "games"] == 1
    assert found.loc["all", "probability"] == 0.5
    assert found.loc["all", "left_out"] == "Left out in pong: a lottery."
    fair = table(tmp_path, *(run | {"test_score": run["test_score"] + 0.1} for run in runs)).set_index("game")
    assert fair.loc["all", "games"] == 2


def test_the_interval_is_that_of_a_plain_bootstrap(tmp_path):
    generator = np.random.default_rng(3)
    scores = {algo: generator.integers(0, 6, size=count) + shift for algo, count, shift in (("ga", 6, 0), ("es", 5, 1))}
    runs = [
        run_of(score, algo=algo, run=number)
        for algo in scores
        for number, score in enumerate(scores[algo], start=1)
    ]  # fmt: skip
    found = table(tmp_path, *runs, replications=20_000).iloc[0]
    plain = []
    for _ in range(4_000):
        own, others = (generator.choice(scores[algo], len(scores[algo])) for algo in ("ga", "es"))
        wins = sum(1 if a > b else 0.5 if a == b else 0 for a in own for b in others)
        plain.append(wins / len(own) / len(others))
    low, high = np.percentile(plain, [2.5, 97.5])
    # The ends of 4,000 resamples vary by about 0.01.
    assert (found["probability_low"], found["probability_high"]) == pytest.approx((low, high), abs=0.035)
    assert 0 < low < found["probability"] < high < 1


def test_games_played_in_another_way_are_not_compared(tmp_path):
    found = table(tmp_path, run_of(1), run_of(3, algo="es", protocol="machado2018", protocol_action_set="full"))
    (row,) = found.itertuples()
    assert (row.game, row.games, row.algo, row.other_algo) == ("all", 0, "ga", "es")
    assert np.isnan(row.probability)
    assert row.left_out == "Left out in pong: episodes were played differently (action set)."


def test_protocols_of_one_name_are_compared_only_where_all_facts_are_equal(tmp_path):
    runs = [run_of(1), run_of(7, game="skiing"), run_of(2, algo="dqn"), run_of(9, game="skiing", algo="dqn")]
    assert table(tmp_path, *runs)["game"].tolist() == ["pong", "skiing", "all"]
    runs[2] |= {"evaluation_epsilon": "0.05"}
    found = table(tmp_path, *runs)
    assert found[["game", "games", "probability"]].to_numpy().tolist() == [["skiing", 1, 0.0], ["all", 1, 0.0]]
    sentence = "Left out in pong: episodes were played differently (test epsilon)."
    assert found["left_out"].fillna("").tolist() == ["", sentence]


def test_counts_have_all_their_digits_although_a_pair_is_left_out(tmp_path):
    frames = {"frames": 1_000_004_811}
    runs = [run_of(1, **frames), run_of(2, algo="es", **frames), run_of(3, algo="dqn", protocol_action_set="full")]
    table(tmp_path, *runs)
    lines = (tmp_path / "comparison.csv").read_text().splitlines()
    assert sum("1000004811" in line for line in lines) == 2
    assert not any("e+09" in line or ".0," in line for line in lines)


def test_protocols_of_two_names_and_equal_facts_are_compared(tmp_path):
    found = table(tmp_path, run_of(1), run_of(3, algo="es", protocol="ours"))
    assert found[["game", "probability"]].to_numpy().tolist() == [["pong", 0.0], ["all", 0.0]]
    assert set(found["protocol"]) == {"uber2018 / ours"}


def test_a_game_that_was_played_in_two_ways_counts_once(tmp_path):
    full = {"protocol": "machado2018", "protocol_action_set": "full"}
    runs = [
        run_of(score, algo=algo, **played)
        for algo, scores in (("ga", (3, 3, 1)), ("es", (2, 2, 2)))
        for score, played in zip(scores, ({}, {"run": 2} | full, {"game": "skiing"}), strict=True)
    ]
    over_all = table(tmp_path, *runs).iloc[-1]
    assert (over_all["games"], over_all["probability"]) == (2, 0.5)  # Pong 1 in both ways, Skiing 0


def test_runs_of_one_algorithm_with_other_settings_are_another_agent(tmp_path):
    weak, strong = {"settings_mutation_power": "0.0005"}, {"settings_mutation_power": "0.5", "settings": "b"}
    found = table(tmp_path, run_of(1, **weak), run_of(4, run=2, **weak), run_of(2, run=3, **strong))
    assert found["probability"].tolist() == [0.5, 0.5]
    assert found["runs"].tolist() == [2, 2]
    assert found[["variant", "other_variant"]].to_numpy().tolist()[0] == ["mutation_power 0.0005", "mutation_power 0.5"]


def test_logs_of_published_codes_are_compared_with_each_other_only(tmp_path):
    old = {"settings": None, "protocol_action_set": None, "evaluation_epsilon": None}
    found = table(tmp_path, run_of(1, **old), run_of(3, algo="es", **old), run_of(2, algo="rs"))
    compared = found[found["games"] > 0]
    assert set(compared["algo"] + compared["other_algo"]) == {"gaes"}
    assert set(compared["protocol"]) == {"uber2018, unknown"}
    assert set(compared["settings"]) == {"unknown"}
    sentence = "Left out in pong: episodes were played differently (how is unknown)."
    assert set(found.loc[found["games"] == 0, "left_out"]) == {sentence}


def test_a_single_agent_gives_an_empty_comparison(tmp_path):
    assert table(tmp_path, run_of(1), run_of(2, run=2)).empty


def test_networks_are_compared_too_and_unknown_numbers_of_episodes_stay_empty(tmp_path):
    found = table(tmp_path, run_of(1), run_of(3, model="small", test_episodes=None))
    assert found["other_model"].tolist() == ["small", "small"]
    assert found["episodes"].tolist() == [30, 30]
    assert found["other_episodes"].isna().all()
