# shellcheck shell=bash
# Checks free disk space. The needs of folders on one file system are added up. Sourced by the scripts in this folder
# and in e2e/cluster.

# Per device number of a file system: the space it needs in GiB, a folder on it, and the uses of the space.
declare -A room_gib=() room_folder=() room_uses=()

# needs_room GIB FOLDER: adds a need. FOLDER does not have to exist yet.
needs_room() {
    local folder=$2 device
    while [[ ! -d $folder ]]; do folder=$(dirname "$folder"); done
    device=$(stat --format %d "$folder")
    room_gib[$device]=$((${room_gib[$device]:-0} + $1))
    room_folder[$device]=$folder
    room_uses[$device]+="${room_uses[$device]:+, }$1 in $2"
}

# Prints a line for each file system that lacks space.
lacking_room() {
    local device free_kib needed
    for device in "${!room_gib[@]}"; do
        free_kib=$(df -Pk "${room_folder[$device]}" | awk 'NR == 2 { print $4 }')
        ((free_kib >= room_gib[$device] * 1024 * 1024)) ||
            {
                needed="${room_gib[$device]} GiB are needed (${room_uses[$device]})"
                printf '%s' "The disk of ${room_folder[$device]} has $((free_kib / 1024 / 1024)) GiB free; $needed. "
                echo "Free some space, or move a folder with CARGO_TARGET_DIR, RAGENGINE_CACHE or TMPDIR."
            }
    done
}
