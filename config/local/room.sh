# shellcheck shell=bash
# Whether there is room on the disks: what shares a file system is added up. Sourced by the scripts beside it and by those of e2e/cluster.

# By the file system's device number: what it has to have, a folder on it, and what for.
declare -A room_gib=() room_folder=() room_uses=()

# needs_room GIB FOLDER: on the file system that FOLDER is on, or will be.
needs_room() {
    local folder=$2 device
    while [[ ! -d $folder ]]; do folder=$(dirname "$folder"); done
    device=$(stat --format %d "$folder")
    room_gib[$device]=$((${room_gib[$device]:-0} + $1))
    room_folder[$device]=$folder
    room_uses[$device]+="${room_uses[$device]:+, }$1 in $2"
}

# Prints a line for each file system that lacks room.
lacking_room() {
    local device free_kib
    for device in "${!room_gib[@]}"; do
        free_kib=$(df -Pk "${room_folder[$device]}" | awk 'NR == 2 { print $4 }')
        ((free_kib >= room_gib[$device] * 1024 * 1024)) ||
            echo "The disk of ${room_folder[$device]} has $((free_kib / 1024 / 1024)) GiB free, ${room_gib[$device]} are needed (${room_uses[$device]}): make room, or put something elsewhere with CARGO_TARGET_DIR, RAGENGINE_CACHE or TMPDIR."
    done
}
