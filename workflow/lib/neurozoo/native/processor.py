"""Which instructions a compiler uses for a processor, and which ones this machine's processor has."""

import platform
import subprocess
from pathlib import Path

# Instructions that a compiler may use by itself, as Linux calls them. Others, such as those of AES, appear only where a
# program asks for them.
_INSTRUCTIONS = """
    ssse3 sse4_1 sse4_2 popcnt abm movbe bmi1 bmi2 tbm f16c fma fma4 xop avx avx2 avx_vnni avx512f avx512bw avx512cd
    avx512dq avx512vl avx512ifma avx512vbmi avx512_vbmi2 avx512_vnni avx512_bitalg avx512_vpopcntdq avx512_bf16
    avx512_fp16
"""
_OTHER_MACROS = {"abm": "LZCNT", "bmi1": "BMI", "avx_vnni": "AVXVNNI"}  # of compilers


# What all servers since about 2015 have.
_PORTABLE = {"x86_64": "x86-64-v3", "aarch64": "armv8-a", "arm64": "armv8-a"}


def chosen_march(march: str) -> str:
    """Returns the `-march` for a compiler: of `portable`, that of this kind of processor; else what is given."""
    return _PORTABLE.get(platform.machine(), "native") if march == "portable" else march


def instructions_of(compiler: str, march: str) -> list[str]:
    """Asks a compiler which instructions it may use beyond those that every x86-64 processor has.

    They have their names in Linux, sorted, such as `avx2`; none if the compiler does not know `march`.
    """
    command = [compiler, f"-march={march}", "-x", "c++", "-dM", "-E", "-"]
    result = subprocess.run(command, input="", text=True, capture_output=True)
    defined = {line.split()[1] for line in result.stdout.splitlines() if line.startswith("#define ")}
    return sorted(name for name in _INSTRUCTIONS.split() if f"__{_macro_of(name)}__" in defined)


def _macro_of(name: str) -> str:
    return _OTHER_MACROS.get(name, name.upper().replace("AVX512_", "AVX512"))


def processor_flags() -> set[str]:
    """Returns the processor's features as Linux names them; an empty set if they are not known."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return set()
    found = next((line for line in lines if line.startswith(("flags", "Features"))), "")  # the latter on ARM
    return set(found.partition(":")[2].split())


def bfloat16_units() -> str:
    """Returns what this processor computes bfloat16 with, as Linux names it: each gives sums other last bits."""
    features = processor_flags()
    return next((name for name in ("amx_bf16", "avx512_bf16", "bf16") if name in features), "software")
