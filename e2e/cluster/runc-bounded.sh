#!/bin/bash
# runc, but a container asks for no capability that this machine's root does not have: runc fails on one. Docker starts it instead of runc.
set -euo pipefail

spec=
for ((i = 1; i <= $#; i++)); do
    value=$((i + 1))
    case ${!i} in
        create | run) spec=${spec:-config.json} ;;
        -b | --bundle) spec="${!value}/config.json" ;;
        -p | --process) spec=${!value} ;;
        --bundle=* | --process=*) spec=${!i#*=}; [[ ${!i} != --bundle=* ]] || spec+=/config.json ;;
    esac
done

if [[ -f $spec ]]; then
    bounding=$(awk '/^CapBnd/ { print $2 }' /proc/self/status)
    allowed=$(capsh --decode="$bounding" | cut -d= -f2 | tr '[:lower:]' '[:upper:]')
    # A container's description has its process within; that of `exec` is the process.
    bounded=$(jq --arg allowed "$allowed" '
        ($allowed | split(",")) as $allowed
        | def bound: if .capabilities then .capabilities |= map_values(map(select(. as $name | $allowed | index($name)))) else . end;
        if .process then .process |= bound else bound end' "$spec")
    printf '%s\n' "$bounded" >"$spec"
fi
exec runc "$@"
