# shellcheck shell=bash
# What all layers of an image may have together, as docker counts them. Sourced.

# max_mb IMAGE PROFILE: prints it in MB. The dev profile compiles soon and not small: its images, which only tests run, may have twice as much.
max_mb() {
    local -A release=([ragengine]=150 [ragengine-operator]=30 [ragengine-e2e]=40)
    local factor=1
    if [[ $2 == dev ]]; then factor=2; fi
    echo $((release[$1] * factor))
}
