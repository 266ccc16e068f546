"""The optimizers of IMPALA, which also measure and bound the gradient's norm."""

from typing import TYPE_CHECKING

from neurozoo.algorithms.impala.settings import ImpalaSettings

if TYPE_CHECKING:
    import keras


def make_optimizer(settings: ImpalaSettings) -> "keras.optimizers.Optimizer":
    """Makes the optimizer that the settings name.

    RMSProp is that of TensorFlow 1: ms <- decay * ms + (1 - decay) * g^2; m <- momentum * m + lr * g / sqrt(ms +
    epsilon); w <- w - m. There, epsilon is inside of the root, and ms starts at 1. PyTorch and Optax have it outside of
    the root, and start at 0.

    Returns:
        The optimizer, with a variable `norm`: the norm of the last gradient before it was bounded.
    """
    import keras

    ops = keras.ops

    class RMSProp(keras.optimizers.Optimizer):
        """RMSProp with a start value, and a choice where epsilon goes."""

        def build(self, variables):
            if self.built:
                return
            super().build(variables)
            start = keras.initializers.Constant(settings.initial_accumulator)
            self.averages = [self.add_variable_from_reference(each, "average", start) for each in variables]
            with_momentum = variables if settings.momentum else []
            self.momenta = [self.add_variable_from_reference(each, "momentum") for each in with_momentum]

        def update_step(self, gradient, variable, learning_rate):
            number = self._get_variable_index(variable)
            average = self.averages[number]
            decay, epsilon = settings.decay_rate, settings.optimizer_epsilon
            self.assign(average, decay * average + (1 - decay) * ops.square(gradient))
            root = ops.sqrt(average + epsilon) if settings.epsilon_inside else ops.sqrt(average) + epsilon
            step = learning_rate * gradient / root
            if settings.momentum:
                momentum = self.momenta[number]
                self.assign(momentum, settings.momentum * momentum + step)
                step = momentum
            self.assign_sub(variable, step)

    kind: type = keras.optimizers.Adam if settings.optimizer == "adam" else RMSProp

    class Bounded(kind):
        """Bounds the norm of all gradients together before it applies them."""

        def build(self, variables):
            if self.built:
                return
            super().build(variables)
            self.norm = self.add_variable((), initializer="zeros", name="norm")

        def apply(self, grads, trainable_variables=None):
            norm = ops.sqrt(sum(ops.sum(ops.square(gradient)) for gradient in grads))
            if (largest := settings.max_gradient_norm) is not None:
                factor = largest / ops.maximum(norm, largest)
                grads = [gradient * factor for gradient in grads]
            self.norm.assign(norm)
            return super().apply(grads, trainable_variables)

    rate = float(settings.learning_rate)
    if settings.optimizer == "adam":
        return Bounded(rate, epsilon=settings.optimizer_epsilon)
    return Bounded(rate)
