"""The pictures of filters that a network can have, known before it is trained."""

from collections.abc import Collection

from neurozoo.environments.observations import ObservationShape
from neurozoo.networks.catalogue import Architecture
from neurozoo.networks.chains import Network

OF_CONVOLUTIONS = ("weights",)
OF_LAYERS = ("patches", "synthetic", "inversion", "guided")
OF_NETWORKS = ("guided_page", "attribution", "saliency", "lean")
# Products that are made from a rollout without parameter noise, and how the names of their files begin.
OF_ROLLOUTS = {
    **{name: f"filters/{name}_" for name in OF_LAYERS},
    "guided_page": "filters/guided.html",
    "attribution": "filters/attribution.png",
    "saliency": "filters/saliency.png",
}
PRODUCTS = (*OF_CONVOLUTIONS, *OF_LAYERS, *OF_NETWORKS)


def product_files(
    network: Architecture, shape: ObservationShape, *, products: Collection[str], layers: Collection[str] = ()
) -> list[str]:
    """Lists the pictures that have a meaning for a network, such as `filters/weights_conv1.png`.

    Of Keras networks, convolutions and residual sections have pictures: what follows them also depends on earlier
    actions. Observations that are vectors have none, and single frames no temporal lean. `products` are names of
    `PRODUCTS`; no `layers` stand for all.
    """
    files = []
    is_chain = isinstance(network, Network)
    if (shape.height, shape.width) != (1, 1):
        for product in products:
            shown = [layer for layer in network.layers if not layers or layer.name in layers]
            shown = [layer for layer in shown if is_chain or layer.kind in ("conv", "residual")]
            if product in OF_CONVOLUTIONS:
                shown = [layer for layer in shown if layer.kind not in ("dense", "residual")]
            if product in (*OF_CONVOLUTIONS, *OF_LAYERS):
                files += [f"filters/{product}_{layer.name}.png" for layer in shown]
        if "guided_page" in products and any("conv" in layer.kind for layer in network.layers):
            files.append("filters/guided.html")
        if "attribution" in products and is_chain:
            files.append("filters/attribution.png")
        if "saliency" in products:
            files.append("filters/saliency.png")
    if "lean" in products and shape.stack > 1:
        files.append("filters/lean.csv")
    return files
