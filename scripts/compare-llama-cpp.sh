#!/usr/bin/env bash
# Times the passes of speck and of llama.cpp over the same model, in turns, and prints both and the ratio, by
# rows (tokens) of a pass.
#   scripts/compare-llama-cpp.sh [--speck PROGRAM] [--target FILE.gguf] [--qwen] [--rounds N] [--build-only]
#     --speck PROGRAM  what to measure, instead of a release build of this tree
#     --target FILE    the model, instead of SPECK_TEST_TARGET or the preset smollm2-135m
#     --qwen           random weights of Qwen2.5-1.5B's shape, nearly as Q4_K_M stores them, instead of a model
#     --rounds N       turns of each program, 3 by default
# llama.cpp is built from the sources in the source distribution of the Python package llama-cpp-python, which
# pip fetches (77 MB, checked by sha256), as a user of this processor would build it, but with its instruction
# sets named one by one: built natively, this version crashes on processors with AMX. Source and build stay in
# SPECK_LLAMA_CPP (default ~/.cache/speck-llama-cpp). Needs python3 with pip, cmake and a C++ compiler.
# What is compared, and what differs:
#   n = 1       tokens written one by one after 128 others. llama.cpp: 32 of them, so after 128 to 159.
#   n = 2..16   one pass over n tokens after 128 others. speck's time includes the logits of all n rows and the
#               choice of a token in each, which verifying drafts needs; llama-bench asks for the last row's only.
#   n = 512     a prompt, in one go from an empty cache; logits as above for llama.cpp, none for speck.
# Nothing else should run meanwhile. Exit status: 0 done; 2 wrong options; 3 something is missing; else a failure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

package=llama_cpp_python version=0.3.36
sha256=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
cache=${SPECK_LLAMA_CPP:-${XDG_CACHE_HOME:-$HOME/.cache}/speck-llama-cpp}

cannot() { echo "compare-llama-cpp: $*" >&2; exit 3; }
wrong() { echo "compare-llama-cpp: $*; see the head of this script" >&2; exit 2; }

speck='' target=${SPECK_TEST_TARGET:-} qwen='' rounds=3 build_only=''
while (($#)); do
  case $1 in
    --speck | --target | --rounds)
      (($# > 1)) || wrong "$1 needs a value"
      declare "${1#--}=$2"
      shift
      ;;
    --qwen) qwen=1 ;;
    --build-only) build_only=1 ;;
    *) wrong "no option $1" ;;
  esac
  shift
done
[[ $rounds =~ ^[1-9][0-9]?$ ]] || wrong "--rounds takes a number from 1 to 99"

for program in python3 cmake c++; do
  command -v "$program" >/dev/null || cannot "no $program on the PATH"
done
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
sdist=$cache/$package-$version.tar.gz
source=$cache/$package-$version/vendor/llama.cpp

# pip asks a source distribution's build back end for its name and version before it keeps the file. This one
# stands in for the real one, which would be installed, with all that it needs, for that answer.
fetch() {
  local backend
  backend=$(mktemp -d)
  mkdir "$backend/scikit_build_core"
  cat >"$backend/scikit_build_core/build.py" <<PYTHON
import pathlib
def prepare_metadata_for_build_wheel(folder, config_settings=None):
    info = pathlib.Path(folder, "$package-$version.dist-info")
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: $package\nVersion: $version\n")
    return info.name
PYTHON
  echo "$package==$version --hash=sha256:$sha256" >"$backend/requirements.txt"
  PYTHONPATH=$backend python3 -m pip download --quiet --no-deps --no-binary :all: --no-build-isolation \
    --require-hashes --dest "$cache" -r "$backend/requirements.txt" || cannot "pip did not fetch $package $version"
  rm -r "$backend"
}

# The options that switch on what this processor has, AMX apart.
instruction_sets() {
  local pair
  if [[ $(uname -m) != x86_64 || ! -r /proc/cpuinfo ]]; then
    echo -DGGML_NATIVE=ON
    return
  fi
  echo -DGGML_NATIVE=OFF
  for pair in sse4_2:SSE42 avx:AVX avx2:AVX2 bmi2:BMI2 fma:FMA f16c:F16C avx_vnni:AVX_VNNI avx512f:AVX512 \
    avx512_vbmi:AVX512_VBMI avx512_vnni:AVX512_VNNI avx512_bf16:AVX512_BF16; do
    if grep -qw "${pair%:*}" /proc/cpuinfo; then echo "-DGGML_${pair#*:}=ON"; else echo "-DGGML_${pair#*:}=OFF"; fi
  done
}

[[ -e $sdist ]] || fetch
[[ -e $source/CMakeLists.txt ]] || tar -xzf "$sdist" -C "$cache"
read -r -d "" -a sets < <(instruction_sets) || true
build=$cache/build-$(printf '%s\n' "$version" "${sets[@]}" | cksum | cut -d ' ' -f 1)
bench=$build/bin/llama-bench
if [[ ! -x $bench ]]; then
  echo "building llama-bench in $build" >&2
  cmake -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=Release "${sets[@]}" -DGGML_METAL=OFF -DGGML_BLAS=OFF \
    -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF \
    -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_NUMBER=0 -DLLAMA_BUILD_COMMIT="$version" >"$build.log" 2>&1 ||
    cannot "cmake refused; see $build.log"
  nice -n 10 cmake --build "$build" --target llama-bench --parallel 2 >>"$build.log" 2>&1 ||
    cannot "llama-bench did not build; see $build.log"
fi
[[ -z $build_only ]] || exit 0

if [[ -z $speck ]]; then
  cargo build --locked --release
  speck=${CARGO_TARGET_DIR:-target}/release/speck
fi
if [[ -n $qwen ]]; then
  target=$cache/qwen2.5-1.5b-random.gguf
  [[ -e $target ]] || python3 scripts/random-gguf.py "$target"
  measured=(--shape qwen2.5-1.5b) repeats=3
else
  [[ -n $target ]] || target=$("$speck" models pull smollm2-135m)
  measured=(--target "$target" --draft none) repeats=9
fi

llama() {
  "$bench" -m "$target" -t "$threads" -o json "$@" 2>"$results/log" || { cat "$results/log" >&2; exit 1; }
}

results=$(mktemp -d)
trap 'rm -r "$results"' EXIT
for ((round = 1; round <= rounds; round++)); do
  "$speck" measure --device cpu --json "${measured[@]}" >"$results/speck.$round"
  threads=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["threads"])' "$results/speck.$round")
  llama -d 128 -n 32 -p 2,4,8,16 -r "$repeats" >"$results/llama-passes.$round"
  llama -n 0 -p 512 -r 2 >"$results/llama-prompt.$round"
done

python3 - "$results" "$(basename "$target")" <<'PYTHON'
import collections, glob, json, statistics, sys

folder, model = sys.argv[1:]
speck, llama = collections.defaultdict(list), collections.defaultdict(list)
for path in glob.glob(folder + "/speck.*"):
    report = json.load(open(path))
    for n in ("1", "2", "4", "8", "16"):
        speck[int(n)].append(report["target"]["verify_ms"][n])
    speck[512].append(512e3 / report["target"]["prefill_tok_s"])
for path in glob.glob(folder + "/llama-*"):
    for test in json.load(open(path)):
        rows, passes = (test["n_prompt"], 1) if test["n_prompt"] else (1, test["n_gen"])
        llama[rows] += [ns / 1e6 / passes for ns in test["samples_ns"]]
        processor = test["cpu_info"]
print(f"{model} on {processor}, {report['threads']} threads; speck: {report['isa']}; medians in ms\n")
print("tokens   speck  llama.cpp   llama.cpp / speck    passes of one token: speck  llama.cpp")
middle = {n: (statistics.median(speck[n]), statistics.median(llama[n])) for n in sorted(speck)}
for n, (ours, theirs) in middle.items():
    print(f"{n:6} {ours:7.2f} {theirs:10.2f} {theirs / ours:19.2f} {ours / middle[1][0]:29.2f} {theirs / middle[1][1]:10.2f}")
PYTHON
