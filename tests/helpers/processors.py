"""Environments in which numpy computes as on other processors than this one."""

import ctypes
import sys
from functools import cache
from pathlib import Path

import numpy as np

__all__ = ["KERNELS", "environment", "kernel_in_use", "runs_here"]

KERNELS = {"Prescott": {"sse3"}, "Nehalem": {"sse4_2"}, "Sandybridge": {"avx"}, "Haswell": {"avx2", "fma"},
           "SkylakeX": {"avx512f", "avx512dq", "avx512bw", "avx512vl"}}  # fmt: skip
"""What OpenBLAS has for processors of x86, oldest first, with the instructions that each needs; Zen is Haswell."""


def environment(kernel: str, threads: int, *, plain: bool = False, hash_seed: int = 0) -> dict[str, str]:
    """Return the variables under which OpenBLAS takes a kernel; `plain` forbids numpy what not every processor has."""
    found = {"OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": str(threads), "PYTHONHASHSEED": str(hash_seed)}
    return found | ({"NPY_DISABLE_CPU_FEATURES": " ".join(_dispatched())} if plain else {})


def _dispatched() -> list[str]:
    """Return the instructions that numpy uses here and not everywhere."""
    config = np.show_config(mode="dicts")
    assert config is not None
    return list(config["SIMD Extensions"].get("found", []))


@cache
def runs_here(kernel: str) -> bool:
    """Tell whether this processor has the instructions of a kernel, and numpy comes with OpenBLAS."""
    info = Path("/proc/cpuinfo")
    if kernel_in_use() is None or not info.exists():
        return False
    flags = next((line for line in info.read_text(encoding="utf-8").splitlines() if line.startswith("flags")), "")
    return KERNELS[kernel] <= {"sse3" if flag == "pni" else flag for flag in flags.split()}


def kernel_in_use() -> str | None:
    """Return the kernel that numpy's OpenBLAS took in this process, by the name of `KERNELS`; None without OpenBLAS."""
    for path in Path(np.__file__).parents[1].glob("numpy.libs/*openblas*"):
        library = ctypes.CDLL(str(path))
        for name in ("scipy_openblas_get_corename64_", "openblas_get_corename64_", "openblas_get_corename"):
            if hasattr(library, name):
                found = getattr(library, name)
                found.restype = ctypes.c_char_p
                kernel = found().decode()
                return "Prescott" if kernel == "Katmai" else kernel
    return None


if __name__ == "__main__":
    sys.stdout.write(str(kernel_in_use()))
