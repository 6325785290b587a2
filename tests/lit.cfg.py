# Configures lit for the .mlir, .attn and .test files under tests/. CMake writes lit.site.cfg.py, which loads this file.
import os

import lit.formats

config.name = "skewer"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".attn", ".test"]
config.excludes = ["unit", "inputs", "Inputs", "package", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
config.test_exec_root = os.path.join(config.skewer_build_root, "tests", "lit")

# Our tools first, so that an installed Skewer is never what is tested; then FileCheck, not and split-file.
config.environment["PATH"] = os.path.pathsep.join(
    [config.skewer_tools_dir, config.llvm_tools_dir, config.environment.get("PATH", "")]
)
for name in ["HOME", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"]:
    if name in os.environ:
        config.environment[name] = os.environ[name]


def tool(name, directory):
    path = os.path.join(directory, name)
    return path if os.path.exists(path) else name


for name in ["skewer-opt", "skewer-lsp-server"]:
    config.substitutions.append((r"\b%s\b" % name, tool(name, config.skewer_tools_dir)))
config.substitutions.append((r"\bFileCheck\b", tool("FileCheck", config.llvm_tools_dir)))
config.substitutions.append((r"\bsplit-file\b", tool("split-file", config.llvm_tools_dir)))
# `skewer` and `not` are found on PATH: they are words that other command lines contain.
config.substitutions.append(("%source_root", config.skewer_source_root))
for plugin in ("periodic", "limit_distance"):
    config.substitutions.append(("%" + plugin, os.path.join(config.skewer_build_root, "tests", "plugins", plugin + ".so")))
config.substitutions.append(("%cc", config.c_compiler))
config.substitutions.append(("%cxx", config.cxx_compiler))

for feature, present in config.skewer_features.items():
    if present:
        config.available_features.add(feature)
with_features = {"avx2": "x86-avx2", "avx512f": "x86-avx512", "avx512_bf16": "x86-avx512-bf16", "avx512_vnni": "x86-avx512-vnni",
                 "avx512_fp16": "x86-avx512-fp16"}
try:
    with open("/proc/cpuinfo") as f:
        flags = next((line for line in f if line.startswith("flags")), "").split()
    config.available_features.update(with_features[flag] for flag in flags if flag in with_features)
except OSError:
    pass
