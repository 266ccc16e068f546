from pathlib import Path

import pytest
from neurozoo.native.build import find_compiler
from neurozoo.native.processor import chosen_march, instructions_of, processor_flags


def test_flags_are_those_of_the_kernel():
    text = Path("/proc/cpuinfo").read_text()
    flags = processor_flags()
    assert all(f" {flag}" in text for flag in flags)
    assert ("flags" in text) == bool(flags)


def test_the_instructions_of_a_level_are_known():
    compiler = find_compiler()
    second, third, fourth = (set(instructions_of(compiler, f"x86-64-v{level}")) for level in (2, 3, 4))
    assert instructions_of(compiler, "x86-64") == []
    assert second == {"popcnt", "sse4_1", "sse4_2", "ssse3"}
    assert third - second == {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"}
    assert fourth - third == {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}


@pytest.mark.parametrize(
    ("machine", "march"), [("x86_64", "x86-64-v3"), ("aarch64", "armv8-a"), ("arm64", "armv8-a"), ("riscv64", "native")]
)
def test_what_is_portable_depends_on_the_machine(monkeypatch, machine, march):
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert (chosen_march("portable"), chosen_march("x86-64-v2")) == (march, "x86-64-v2")


def test_what_is_compiled_for_this_machine_runs_on_it():
    assert set(instructions_of(find_compiler(), "native")) <= processor_flags()


def test_an_option_that_the_compiler_does_not_know_needs_nothing():
    assert instructions_of(find_compiler(), "nonsense") == []
