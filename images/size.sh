# shellcheck shell=bash
# The size limits of images. Sourced.

# max_mb IMAGE PROFILE: prints the limit of all layers together, in MB, as docker counts it. Images of the dev profile
# may be twice as large: it is optimised for compile time, and only tests use it.
max_mb() {
    local -A release=([ragengine]=150 [ragengine-operator]=30 [ragengine-e2e]=150)
    local factor=1
    if [[ $2 == dev ]]; then factor=2; fi
    echo $((release[$1] * factor))
}
