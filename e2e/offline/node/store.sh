# shellcheck shell=bash
# The images that kubeadm and kind start, and containerd's store with them. Sourced by build.sh, which sets work, node_root and images.
# shellcheck disable=SC2154

# So that those of an interrupted build can be told from others.
part_label=ragengine.cluster-node-part

make_images() {
    local program
    for program in kube-apiserver kube-controller-manager kube-scheduler etcd; do
        add_program "$program"
        import_image "$program" "$(kubernetes_image "$program")" "/usr/local/bin/$program"
    done
    add_iptables kube-proxy
    add_program kube-proxy
    import_image kube-proxy "$(kubernetes_image kube-proxy)" /usr/local/bin/kube-proxy
    mkdir -p "$images/coredns" "$images/pause"
    cp "$node_programs/coredns" "$images/coredns/coredns"
    import_image coredns "$(kubernetes_image coredns)" /coredns
    cp "$node_programs/pause" "$images/pause/pause"
    import_image pause "$(kubernetes_image pause)" /pause
    add_program local-path-provisioner
    import_image local-path-provisioner "$(storage_image storageProvisionerImage)" /usr/local/bin/local-path-provisioner
    add_shell local-path-helper
    import_image local-path-helper "$(storage_image storageHelperImage)" /bin/sh
}

# fill_store: the node's own containerd takes the images in, and unpacks each when it is first used.
fill_store() {
    local address=/run/fill.sock containerd names
    mapfile -t names <"$work/image-names"
    mount -t proc proc "$node_root/proc"
    cat >"$node_root/tmp/fill.toml" <<END
version = 2
state = "/run/fill"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
address = "$address"
END
    chroot "$node_root" containerd --config /tmp/fill.toml &
    containerd=$!
    for ((i = 0; i < 150; i++)); do
        if [[ -S $node_root$address ]]; then break; fi
        sleep 0.2
    done
    docker save "${names[@]}" |
        chroot "$node_root" ctr --address "$address" --namespace k8s.io images import --all-platforms --no-unpack --digests -
    docker image rm "${names[@]}"
    docker image prune --force --filter "label=$part_label"
    kill "$containerd"
    wait "$containerd" || true
    umount "$node_root/proc"
    rm -rf "$node_root"/tmp/fill.toml "$node_root"/run/fill* "$node_root/var/lib/containerd/tmpmounts"
}

# import_image FOLDER NAME PROGRAM: makes a folder of $images an image of one layer.
import_image() {
    tar --directory "$images/$1" --numeric-owner --owner=0 --group=0 --create . |
        docker import --change "LABEL $part_label=yes" --change "ENTRYPOINT [\"$3\"]" --change "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" - "$2"
    echo "$2" >>"$work/image-names"
}

# add_program NAME: to the image's folder of the same name.
add_program() {
    mkdir -p "$images/$1/usr/local/bin"
    cp "$node_programs/$1" "$images/$1/usr/local/bin/"
}

# add_from_node FOLDER FILE...: programs and plugins of the node with the shared libraries that they need.
add_from_node() {
    local folder="$images/$1"
    shift
    mkdir -p "$folder"
    # ldd prints `name => /path (address)`, and the loader without the arrow.
    (cd "$node_root" && {
        printf '%s\n' "$@"
        chroot . ldd "$@" | awk '$2 == "=>" { print $3 } $1 ~ "^/lib64/" && $2 ~ /^\(/ { print $1 }'
    } | sort -u | sed 's#^/#./#' | xargs cp --parents --dereference --target-directory "$folder")
}

# add_iptables FOLDER: for kube-proxy. Its names are links to one program.
add_iptables() {
    local extensions name
    mapfile -t extensions < <(cd "$node_root" && find usr/lib/x86_64-linux-gnu/xtables -name '*.so' -printf '/%p\n')
    add_from_node "$1" /usr/sbin/xtables-nft-multi "${extensions[@]}"
    for name in ip{,6}tables{,-save,-restore}; do ln -s xtables-nft-multi "$images/$1/usr/sbin/$name"; done
    mkdir -p "$images/$1/run"
    chroot "$images/$1" /usr/sbin/iptables --version
}

# add_shell FOLDER: for the pods that make and delete a volume's folder.
add_shell() {
    local name
    add_from_node "$1" /bin/busybox
    for name in $(chroot "$node_root" busybox --list); do
        [[ $name == busybox ]] || ln -s busybox "$images/$1/bin/$name"
    done
    mkdir -m 1777 "$images/$1/tmp"
    chroot "$images/$1" /bin/sh -c 'mkdir -p /tmp/a && rm -r /tmp/a'
}
