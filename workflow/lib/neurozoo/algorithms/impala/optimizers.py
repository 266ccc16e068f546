"""The optimizers of IMPALA, which also measure and bound the gradient's norm."""

import itertools
import math
from typing import TYPE_CHECKING

from neurozoo.algorithms.impala.settings import ImpalaSettings

if TYPE_CHECKING:
    import keras


BETAS = (0.9, 0.999)  # of RAdam: decay rates of the means of the gradient and of its square


def rectification_length(steps: float) -> float:
    """Returns how many squares RAdam's mean of them stands for: rho_t after a number of steps, from 1 to infinity."""
    second = BETAS[1]
    left = second**steps
    return 2 / (1 - second) - 1 - (0.0 if steps == math.inf else 2 * steps * left / (1 - left))


FIRST_RECTIFIED = next(step for step in itertools.count(1) if rectification_length(step) > 5)


def make_optimizer(settings: ImpalaSettings) -> "keras.optimizers.Optimizer":
    """Makes the optimizer that the settings name.

    RMSProp is that of TensorFlow 1: ms <- decay * ms + (1 - decay) * g^2; m <- momentum * m + lr * g / sqrt(ms +
    epsilon); w <- w - m. There, epsilon is inside of the root, and ms starts at 1. PyTorch and Optax have it outside of
    the root, and start at 0.

    RAdam is that of PyTorch: the mean of the gradient alone for the first steps, then Adam times a factor that grows
    to 1, since the mean of few squares says little (Liu et al. 2020, arXiv:1908.03265).

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

    class RAdam(keras.optimizers.Optimizer):
        """Rectified Adam."""

        def build(self, variables):
            if self.built:
                return
            super().build(variables)
            self.means = [self.add_variable_from_reference(each, "mean") for each in variables]
            self.squares = [self.add_variable_from_reference(each, "square") for each in variables]

        def update_step(self, gradient, variable, learning_rate):
            number = self._get_variable_index(variable)
            mean, square = self.means[number], self.squares[number]
            first, second = BETAS
            self.assign(mean, first * mean + (1 - first) * gradient)
            self.assign(square, second * square + (1 - second) * ops.square(gradient))
            step = ops.cast(self.iterations + 1, variable.dtype)
            unbiased = mean / -ops.expm1(step * math.log(first))
            missing = -ops.expm1(step * math.log(second))  # 1 - second^step, without the rounding of a difference
            longest = rectification_length(math.inf)
            length = ops.maximum(longest - 2 * step * (1 - missing) / missing, 5.0)  # unused where it would be less
            rectified = ops.sqrt(
                (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length) * missing
            )
            adaptive = rectified / (ops.sqrt(square) + settings.optimizer_epsilon)
            is_rectified = self.iterations + 1 >= FIRST_RECTIFIED
            self.assign_sub(variable, learning_rate * unbiased * ops.where(is_rectified, adaptive, 1.0))

    kinds: dict[str, type] = {"rmsprop": RMSProp, "adam": keras.optimizers.Adam, "radam": RAdam}
    kind: type = kinds[settings.optimizer]

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
