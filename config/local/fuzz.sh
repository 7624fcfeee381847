#!/usr/bin/env bash
# Fuzzes the parsers of requests, streams, settings, archives and snapshots, FUZZ_SECONDS=60 for each target. The cache
# keeps inputs and findings. With --install: only installs cargo-fuzz.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/paths.sh"
source "$here/step.sh"

cargo_fuzz_version=0.13.2
cargo_fuzz_dir="$RAGENGINE_CACHE/tools/cargo-fuzz-$cargo_fuzz_version"
fuzz_dir="$root/ragengine/fuzz"
build_dir="$target_dir/fuzz"
work_dir="$RAGENGINE_CACHE/fuzz"
targets=(chat_request event_stream api_request settings archive snapshot)
seconds="${FUZZ_SECONDS:-60}"

install() {
    rm -rf "$cargo_fuzz_dir"
    # Without CARGO_TARGET_DIR, cargo builds in a temporary folder and removes it.
    env -u CARGO_TARGET_DIR cargo install --locked cargo-fuzz --version "$cargo_fuzz_version" --root "$cargo_fuzz_dir"
}

install_what_is_missing() {
    if [[ $("$cargo_fuzz_dir/bin/cargo-fuzz" --version 2>/dev/null) == *" $cargo_fuzz_version" ]]; then
        echo "cargo-fuzz: there"
    else
        step "Installing cargo-fuzz $cargo_fuzz_version" install
    fi
}

# A stable compiler has no sanitizers. The fuzzer does not need them: it uses coverage and looks for panics.
build() {
    cargo fetch --locked --manifest-path "$fuzz_dir/Cargo.toml"
    "$cargo_fuzz_dir/bin/cargo-fuzz" build --fuzz-dir "$fuzz_dir" --target-dir "$build_dir" --sanitizer none \
        --debug-assertions
}

# fuzz TARGET: saves an input below findings/ if it causes a panic, takes too long or uses too much memory.
fuzz() {
    local target=$1 max_bytes=4096 program
    local corpus="$work_dir/corpus/$1" findings="$work_dir/findings/$1" log="$work_dir/$1.log"
    mkdir -p "$corpus" "$findings"
    program=$(find "$build_dir" -path "*/release/$target" -type f -print -quit)
    # Short inputs run faster, and 4 KiB are enough for a conversation. The names and padding of an archive need more.
    [[ $target != archive ]] || max_bytes=16384
    if ! "$program" -max_total_time="$seconds" -max_len="$max_bytes" -timeout=10 -rss_limit_mb=2048 \
        -print_final_stats=1 -verbosity=0 -dict="$fuzz_dir/dictionaries/$target" -artifact_prefix="$findings/" \
        "$corpus" "$fuzz_dir/seeds/$target" >"$log" 2>&1; then
        tail -n 40 "$log"
        echo "To reproduce it: $program FILE"
        return 1
    fi
}

# report TARGET: prints the number of inputs.
report() {
    awk -v kept="$(find "$work_dir/corpus/$1" -type f | wc -l)" \
        '/number_of_executed_units/ { print "  " $2 " inputs without a finding; " kept " are kept for the next run" }' \
        "$work_dir/$1.log"
}

[[ $seconds =~ ^[1-9][0-9]*$ ]] || fail "FUZZ_SECONDS must be a positive number of seconds: $seconds"
install_what_is_missing
[[ ${1:-} != --install ]] || exit 0
step "Building the fuzz targets" build
for target in "${targets[@]}"; do
    step "Fuzzing $target for $seconds s" fuzz "$target"
    report "$target"
done
