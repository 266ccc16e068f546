import pytest
from neurozoo.errors import NeurozooError
from neurozoo.plan.unknown_targets import check_targets

RUN = "results/runs/{algo,[^/]+}/{game,[^/]{2,}}/{model}/{run}"
PRODUCTS = [
    "results/figures/learning_curves.pdf",
    *(f"{RUN}/{file}" for file in ("activation.mp4", "layer_{layer}.mp4", "what_if/{name,[^/.]+}.mp4")),
]


def answer(target):
    try:
        check_targets([target], is_made=lambda path: path in PRODUCTS, products=PRODUCTS, rules=["build_site", "train"])
    except NeurozooError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("target", "guess"),
    [
        ("results/figures/learning_curve.pdf", "results/figures/learning_curves.pdf"),
        ("results/figure/learning_curves.pdf", "results/figures/learning_curves.pdf"),
        ("results/runs/ga/pong/large/1/activaton.mp4", "results/runs/ga/pong/large/1/activation.mp4"),
        ("results/activation.mp4", "results/runs/{algo}/{game}/{model}/{run}/activation.mp4"),
    ],
)
def test_a_slip_in_a_target_is_answered_with_the_file_that_was_meant(target, guess):
    assert answer(target) == f"No rule makes {target}; did you mean {guess}? All files: results/README.md."


def test_a_constraint_of_a_wildcard_is_no_guess():
    target = "results/runs/ga/pong/large/1/what_if/l+.mp4"
    assert answer(target) == f"No rule makes {target}. All files: results/README.md."


def test_a_file_that_comes_with_another_is_answered_with_the_way_to_get_it():
    said = answer("results/runs/ga/pong/large/1/genome.json")
    assert said == (
        "results/runs/ga/pong/large/1/genome.json cannot be made by its path. Neuroevolution writes it beside "
        "checkpoint.npz: ask for that."
    )
    assert "add it to freeze.forms" in answer("results/runs/ga/pong/large/1/tags/human/frozen/saved_model")


def test_a_target_of_another_configuration_is_answered_with_the_option():
    said = answer("results/mine/runs/ga/pong/large/1/activation.mp4")
    assert "Another folder of results needs the configuration that names it: --configfile." in said


def test_a_slip_in_the_name_of_a_rule_is_answered_with_the_rule():
    assert answer("build_sit") == "No rule is called build_sit; did you mean build_site?"


def test_what_resembles_nothing_is_answered_with_the_page_of_all_files():
    assert answer("results/xyzzy") == "No rule makes results/xyzzy. All files: results/README.md."


def test_files_with_a_rule_and_files_that_exist_pass(tmp_path):
    assert answer("./results/figures/learning_curves.pdf") == ""
    assert answer(str(tmp_path)) == ""
