"""Which pictures of filters a network can have, known before it is trained."""

from collections.abc import Collection

from neurozoo.games import ObservationShape
from neurozoo.networks import Network

OF_CONVOLUTIONS = ("weights",)
OF_LAYERS = ("patches", "synthetic", "inversion", "guided")
OF_NETWORKS = ("guided_page", "attribution", "lean")
# Those that are made of what an undisturbed network saw, and how the names of their files begin.
OF_ROLLOUTS = {
    **{name: f"filters/{name}_" for name in OF_LAYERS},
    "guided_page": "filters/guided.html",
    "attribution": "filters/attribution.png",
}
PRODUCTS = (*OF_CONVOLUTIONS, *OF_LAYERS, *OF_NETWORKS)


def product_files(
    network: Network, shape: ObservationShape, *, products: Collection[str], layers: Collection[str] = ()
) -> list[str]:
    """Lists the files of a run's folder that have a meaning for its network.

    Args:
        network: The architecture.
        shape: Of what it sees. A vector has no pictures, and a single frame no temporal lean.
        products: Names of `PRODUCTS`.
        layers: Names of layers; none for all.

    Returns:
        Paths relative to the run's folder, such as `filters/weights_conv1.png`.
    """
    files = []
    if (shape.height, shape.width) != (1, 1):
        for product in products:
            shown = [layer for layer in network.layers if not layers or layer.name in layers]
            if product in OF_CONVOLUTIONS:
                shown = [layer for layer in shown if layer.kind != "dense"]
            if product in (*OF_CONVOLUTIONS, *OF_LAYERS):
                files += [f"filters/{product}_{layer.name}.png" for layer in shown]
        if "guided_page" in products and any(layer.kind != "dense" for layer in network.layers):
            files.append("filters/guided.html")
        if "attribution" in products:
            files.append("filters/attribution.png")
    if "lean" in products and shape.stack > 1:
        files.append("filters/lean.csv")
    return files
