# How lit runs the tests of this folder: every .dir, .mlir and .test file below it, except in Inputs.
#
# One file or folder by hand:
#   python3 /usr/lib/llvm-19/build/utils/lit/lit.py -v build/gcc/test/passes/prepare/cse.dir
#
# Programs on PATH: dopt and its sister tools, FileCheck, not, count.
# Substitutions beside lit's own (%s, %t, %S ...):
#   %dopt      the driver                     %FileCheck  FileCheck
#   %models    test/models, and digits.safetensors, what the models of digits learn
#   %gpl       the text of the GNU GPL, where the system has it
#   %source    the top folder                 %mpirun     mpirun under a time limit
#   %unit      where the unit tests and what test/random/pipelines.py runs are
#   %python    the Python that runs lit
#   %cc        this build's C compiler        %cflags     its flags for code that includes our headers
#   %libdir    where libdopt.so and libdopt_rt.a are
#   %rtlibs    what a program that uses libdopt_rt is linked with: `%cc %cflags x.c -o %t %rtlibs`
#   %nvcc      the compiler of CUDA; empty without
#   %ranks     how many ranks models/Inputs/step.py is to take: -few under sanitizers, -all in a long run
#   %sanitize  the flags among these that build with sanitizers; empty without
#   %plugin    %cc and what makes a plugin: `%plugin %S/Inputs/hello.c -o %t.so`
# Where .lit_test_times.txt of the build folder is missing, in a fresh build, lit starts with the tests that are the
# slowest by .lit_test_times.txt of this folder, so that none of them is left for the end.
# Features for REQUIRES and UNSUPPORTED: cuda (nvcc), cudnn, gpu, root, mpi, asan, avx512, gcc, clang, gpl,
# chromium, torch, jax (in %torch_python, %jax_python), mlir (mlir-opt of LLVM 19, Debian: mlir-19-tools), networks (namespaces and what joins them),
# mounts (mount namespaces), long (`../bootstrap test long`).

import os
import shutil
import subprocess

import lit.formats

# One test may take this long. The slowest take two minutes under sanitizers on an idle machine of two
# cores, and a loaded one may be several times slower; a hang is cut off long before the run as a whole is.
TEST_SECONDS = 900
# A run under mpirun, which must end before its test does. Ranks poll, and take minutes where other tests use the cores.
MPIRUN_SECONDS = 400

# A text of some length that every Debian has (base-files): what char_gpt.dir learns.
GPL = "/usr/share/common-licenses/GPL-3"

config.name = "dopt"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".dir", ".test", ".mlir"]
config.excludes = ["Inputs", "unit"]

if lit_config.maxIndividualTestTimeIsSupported[0]:
    lit_config.maxIndividualTestTime = TEST_SECONDS + int(
        os.environ.get("DOPT_PIPELINE_SECONDS", 0)
    )
else:
    lit_config.note("no time limit for single tests: install python3-psutil")


def environment():
    with open(os.path.join(config.test_source_root, "environment")) as lines:
        for line in lines:
            line = line.strip().replace("@TEST@", config.test_source_root)
            if line and not line.startswith("#"):
                yield line.split("=", 1)


config.environment.update(environment())
if config.nvcc_flags:
    config.environment["NVCC_APPEND_FLAGS"] = config.nvcc_flags
config.environment["PATH"] = os.pathsep.join(
    [config.bin_dir, config.llvm_tools, config.environment["PATH"]]
)
for name in ("HOME", "TMPDIR", "LD_LIBRARY_PATH", "DOPT_PIPELINE_SECONDS", "DOPT_RANDOM_SLICE"):
    if name in os.environ:
        config.environment[name] = os.environ[name]


def cpu_flags():
    try:
        with open("/proc/cpuinfo") as info:
            return next((line.split() for line in info if line.startswith("flags")), [])
    except OSError:
        return []


def can_have_networks():
    """May we make network namespaces, and are the tools there that join them?"""
    if os.geteuid() != 0 or not all(shutil.which(tool) for tool in ("ip", "tc", "unshare", "taskset")):
        return False
    return subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode == 0


TORCH_PYTHON = os.environ.get("TORCH_PYTHON", config.python)  # an interpreter that has PyTorch, if another one than that of the tests
JAX_PYTHON = os.environ.get("JAX_PYTHON", config.python)  # the same for JAX


def has_modules(python, *names):
    found = f"import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, {names!r})))"
    return subprocess.run([python, "-c", found], capture_output=True).returncode == 0


def can_mount():
    """May we mount folders that only one command sees?"""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        return False
    return subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0


features = {
    "cuda": bool(config.nvcc),
    "cudnn": bool(config.cudnn),
    "gpu": os.path.exists("/dev/nvidiactl"),
    "root": os.geteuid() == 0,
    "networks": can_have_networks(),
    "mounts": can_mount(),
    "mpi": os.access(config.mpirun, os.X_OK),
    "asan": "address" in config.sanitize,
    "avx512": "avx512f" in cpu_flags(),
    "gcc": config.compiler == "GNU",
    "clang": config.compiler == "Clang",
    "gpl": os.path.exists(GPL),
    "dpkg": shutil.which("dpkg-deb") is not None and shutil.which("dpkg-shlibdeps") is not None,
    "chromium": shutil.which("chromium") is not None,
    "long": "DOPT_TEST_LONG" in os.environ,
    "torch": has_modules(TORCH_PYTHON, "torch"),
    "torch_zoo": has_modules(TORCH_PYTHON, "torch", "torchvision", "transformers"),
    "jax": has_modules(JAX_PYTHON, "jax", "jaxlib"),
    "venv": has_modules(config.python, "venv", "ensurepip"),
    "zsh": shutil.which("zsh") is not None,
    "nm": shutil.which("nm") is not None,
    "mlir": shutil.which("mlir-opt-19") is not None,
    # Other versions break lines in other places.
    "clang_format_14": shutil.which("clang-format-14") is not None,
}
config.available_features.update(name for name, present in features.items() if present)

ranks = ""
if features["asan"]:
    ranks = "-few"
elif features["long"]:
    ranks = "-all"

cflags = "-std=c11 -D_GNU_SOURCE -I%s -I%s %s" % (
    config.source_dir,
    config.gen_dir,
    config.sanitize_flags,
)
config.substitutions += [
    ("%dopt", os.path.join(config.bin_dir, "dopt")),
    ("%FileCheck", os.path.join(config.llvm_tools, "FileCheck")),
    ("%gpl", GPL),
    ("%models", os.path.join(config.test_source_root, "models")),
    ("%source", config.source_dir),
    ("%python", config.python),
    ("%torch_python", TORCH_PYTHON),
    ("%jax_python", JAX_PYTHON),
    ("%unit", os.path.join(config.test_exec_root, "unit")),
    ("%libdir", config.lib_dir),
    ("%rtlibs", "-L%s -ldopt_rt %s" % (config.lib_dir, config.rt_libs)),
    ("%mpirun", "timeout %d %s" % (MPIRUN_SECONDS, config.mpirun)),
    ("%plugin", "%s -std=c11 -D_GNU_SOURCE -I%s %s -Wall -Wextra -Werror -fPIC -shared -L%s -ldopt"
        % (config.cc, config.public_include, config.sanitize_flags, config.lib_dir)),
    ("%cflags", cflags),
    ("%ranks", ranks),
    ("%sanitize", config.sanitize_flags),
    ("%nvcc", config.nvcc),
    ("%mlir_opt", "mlir-opt-19"),
    ("%cc", config.cc),
]
