"""Which instructions a compiler uses for a processor, and which ones this machine's processor has."""

import subprocess
from pathlib import Path

# What a compiler defines where it may use instructions by itself, and what Linux calls them. Others, such as those of
# AES, appear only where a program asks for them.
_INSTRUCTIONS = {
    "__SSSE3__": "ssse3",
    "__SSE4_1__": "sse4_1",
    "__SSE4_2__": "sse4_2",
    "__POPCNT__": "popcnt",
    "__LZCNT__": "abm",
    "__MOVBE__": "movbe",
    "__BMI__": "bmi1",
    "__BMI2__": "bmi2",
    "__TBM__": "tbm",
    "__F16C__": "f16c",
    "__FMA__": "fma",
    "__FMA4__": "fma4",
    "__XOP__": "xop",
    "__AVX__": "avx",
    "__AVX2__": "avx2",
    "__AVXVNNI__": "avx_vnni",
    "__AVX512F__": "avx512f",
    "__AVX512BW__": "avx512bw",
    "__AVX512CD__": "avx512cd",
    "__AVX512DQ__": "avx512dq",
    "__AVX512VL__": "avx512vl",
    "__AVX512IFMA__": "avx512ifma",
    "__AVX512VBMI__": "avx512vbmi",
    "__AVX512VBMI2__": "avx512_vbmi2",
    "__AVX512VNNI__": "avx512_vnni",
    "__AVX512BITALG__": "avx512_bitalg",
    "__AVX512VPOPCNTDQ__": "avx512_vpopcntdq",
    "__AVX512BF16__": "avx512_bf16",
    "__AVX512FP16__": "avx512_fp16",
}


def instructions_of(compiler: str, march: str) -> list[str]:
    """Asks a compiler which instructions it may use beyond those that every x86-64 processor has.

    Args:
        compiler: Path of GCC or Clang.
        march: Its option `-march`; `native` is this machine's processor.

    Returns:
        Their names in Linux, sorted, such as `avx2`. Empty if the compiler does not know `march`.
    """
    command = [compiler, f"-march={march}", "-x", "c++", "-dM", "-E", "-"]
    result = subprocess.run(command, input="", text=True, capture_output=True)
    defined = {line.split()[1] for line in result.stdout.splitlines() if line.startswith("#define ")}
    return sorted(flag for macro, flag in _INSTRUCTIONS.items() if macro in defined)


def processor_flags() -> set[str]:
    """Returns the processor's features as Linux names them; an empty set if they are not known."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return set()
    for line in lines:
        if line.startswith(("flags", "Features")):  # the latter on ARM
            return set(line.partition(":")[2].split())
    return set()
