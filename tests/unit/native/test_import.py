from importlib.util import find_spec

import pytest

PREPARED = "import sys; from neurozoo.native import import_tensorflow; import_tensorflow(); "


def test_tensorflow_comes_without_what_training_does_not_need(python):
    assert python(f"{PREPARED} print('tensorflow' in sys.modules, {{'keras', 'jax'}} & set(sys.modules))").stdout == (
        "True set()\n"
    )


def test_keras_works_after_tensorflow_came_without_it(python):
    code = """
import keras, numpy
import tensorflow as tf
model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, kernel_initializer="ones")])
print(model.predict(numpy.array([[2.0, 3.0]]), verbose=0), isinstance(model.weights[0].value, tf.Variable))
print(tf.keras.Model)
"""
    assert python(PREPARED + code).stdout == "[[5.]] True\n<class 'keras.src.models.model.Model'>\n"


@pytest.mark.long(seconds=8)
@pytest.mark.parametrize("first", ["import keras", "import tensorflow", "import jax" if find_spec("jax") else "pass"])
def test_what_was_imported_before_stays(python, first):
    code = "after = {name: sys.modules.get(name) for name in names}; print(after == before)"
    names = "import sys; names = ('keras', 'jax', 'tensorflow')[: 2 + ('tensorflow' in sys.modules)]"
    before = "before = {name: sys.modules.get(name) for name in names}"
    assert python(f"{first}; {names}; {before}; {PREPARED} {code}").stdout == "True\n"
