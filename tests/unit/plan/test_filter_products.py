from neurozoo.environments.observations import ObservationShape
from neurozoo.networks.catalogue import get_architecture, get_network
from neurozoo.plan.filter_products import PRODUCTS, product_files

ATARI = ObservationShape(84, 84, 1, 4)


def test_every_layer_gets_the_pictures_that_have_a_meaning_for_it():
    files = product_files(get_network("recurrent_large"), ATARI, products=PRODUCTS)
    weights = [file for file in files if "weights" in file]
    assert weights == [f"filters/weights_{name}.png" for name in ("conv1", "recu1", "conv2", "conv3")]
    for product in ("patches", "synthetic", "inversion", "guided"):
        assert f"filters/{product}_fc.png" in files
    assert files[-4:] == [f"filters/{name}" for name in ("guided.html", "attribution.png", "saliency.png", "lean.csv")]


def test_pictures_without_a_meaning_are_left_out():
    vector = product_files(get_network("simple"), ObservationShape(1, 1, 11), products=PRODUCTS)
    assert vector == []
    river = product_files(get_network("small"), ObservationShape(20, 20, 3), products=PRODUCTS, layers=["conv2"])
    assert river == [
        *(f"filters/{product}_conv2.png" for product in ("weights", "patches", "synthetic", "inversion", "guided")),
        "filters/guided.html",
        "filters/attribution.png",
        "filters/saliency.png",
    ]
    assert product_files(get_network("simple"), ATARI, products=["weights", "guided_page", "lean"]) == [
        "filters/lean.csv"
    ]


def test_of_keras_networks_convolutions_and_sections_have_pictures():
    files = product_files(get_architecture("impala_gym_simple"), ATARI, products=PRODUCTS)
    of_layers = ("weights", "patches", "synthetic", "inversion", "guided")
    assert set(files) == {
        *(f"filters/{product}_conv{number}.png" for product in of_layers for number in (1, 2, 3)),
        "filters/guided.html",
        "filters/saliency.png",
        "filters/lean.csv",
    }
    assert product_files(get_architecture("impala_gym_deep"), ATARI, products=PRODUCTS, layers=["section2"]) == [
        *(f"filters/{product}_section2.png" for product in of_layers[1:]),
        "filters/saliency.png",
        "filters/lean.csv",
    ]
