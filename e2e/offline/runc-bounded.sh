#!/bin/bash
# Docker runs this instead of runc. It removes the capabilities that root lacks on this machine from the container's
# specification, because runc fails on them, and then runs runc.
set -euo pipefail

spec=
for ((i = 1; i <= $#; i++)); do
    value=$((i + 1))
    case ${!i} in
        create | run) spec=${spec:-config.json} ;;
        -b | --bundle) spec="${!value}/config.json" ;;
        -p | --process) spec=${!value} ;;
        --bundle=*) spec="${!i#*=}/config.json" ;;
        --process=*) spec=${!i#*=} ;;
    esac
done

if [[ -f $spec ]]; then
    bounding=$(awk '/^CapBnd/ { print $2 }' /proc/self/status)
    allowed=$(capsh --decode="$bounding" | cut -d= -f2 | tr '[:lower:]' '[:upper:]')
    # The specification of a container has a field `process`. That of `exec` is the process.
    bounded=$(jq --arg allowed "$allowed" '
        ($allowed | split(",")) as $allowed
        | def keep: map_values(map(select(. as $name | $allowed | index($name))));
        def bound: if .capabilities then .capabilities |= keep else . end;
        if .process then .process |= bound else bound end' "$spec")
    printf '%s\n' "$bounded" >"$spec"
fi
exec runc "$@"
