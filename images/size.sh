# shellcheck shell=bash
# What all layers of an image may have together, in MB as docker counts them. Sourced.

# shellcheck disable=SC2034
declare -A max_image_mb=([ragengine]=150 [ragengine-operator]=30 [ragengine-e2e]=40)
