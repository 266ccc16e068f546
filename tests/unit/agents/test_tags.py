import pytest
from neurozoo.agents.tags import Moment, Tag, parse_tag
from neurozoo.errors import NeurozooError


@pytest.mark.parametrize(
    ("text", "kind", "amount"),
    [
        ("initial", "initial", 0),
        ("human", "human", 0),
        ("400M", "frames", 400_000_000),
        ("1B", "frames", 1_000_000_000),
        ("2.5K", "frames", 2_500),
        ("10HR", "seconds", 36_000),
        ("0.5HR", "seconds", 1_800),
    ],
)
def test_a_tag_is_read(text, kind, amount):
    assert parse_tag(text) == Tag(text, kind, amount)


@pytest.mark.parametrize(
    "text", ["", "400", "M", "-1M", "0M", "1HOUR", "1hr", "1M/..", "../1M", "1e3M", "final", "\u0661M"]
)
def test_text_that_is_not_a_tag_is_refused_with_examples(text):
    with pytest.raises(NeurozooError, match=r"A tag should be initial .* human .* 400M .* 1HR"):
        parse_tag(text)


def test_human_is_reached_above_the_human_score_and_never_without_one():
    human = parse_tag("human")  # 4334.7 in frostbite
    assert not human.is_reached(Moment(1, 1, 1.0, 4334.0), game="frostbite")
    assert human.is_reached(Moment(1, 1, 1.0, 4335.0), game="frostbite")
    assert not human.is_reached(Moment(1, 1, 1.0, 1e9), game="river_crossing")
