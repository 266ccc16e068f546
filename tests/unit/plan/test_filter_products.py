from neurozoo.architectures import get_network
from neurozoo.filters.products import PRODUCTS, product_files
from neurozoo.games import ObservationShape

ATARI = ObservationShape(84, 84, 1, 4)


def test_every_layer_gets_what_has_a_meaning_for_it():
    files = product_files(get_network("recurrent_large"), ATARI, products=PRODUCTS)
    weights = [file for file in files if "weights" in file]
    assert weights == [f"filters/weights_{name}.png" for name in ("conv1", "recu1", "conv2", "conv3")]
    for product in ("patches", "synthetic", "inversion", "guided"):
        assert f"filters/{product}_fc.png" in files
    assert files[-3:] == ["filters/guided.html", "filters/attribution.png", "filters/lean.csv"]


def test_what_has_no_meaning_is_left_out():
    vector = product_files(get_network("simple"), ObservationShape(1, 1, 11), products=PRODUCTS)
    assert vector == []
    river = product_files(get_network("small"), ObservationShape(20, 20, 3), products=PRODUCTS, layers=["conv2"])
    assert river == [
        *(f"filters/{product}_conv2.png" for product in ("weights", "patches", "synthetic", "inversion", "guided")),
        "filters/guided.html",
        "filters/attribution.png",
    ]
    assert product_files(get_network("simple"), ATARI, products=["weights", "guided_page", "lean"]) == [
        "filters/lean.csv"
    ]
