# shellcheck shell=bash
# The node's root file system. Sourced by build.sh, which sets node_root.
# shellcheck disable=SC2154

# Those of kind's images/base/Dockerfile without network file systems, and as packages what kind builds itself: containerd, runc and the network
# plugins. busybox is for an image; hostname is what kind's entrypoint calls.
node_packages=(
    systemd conntrack iptables nftables iproute2 ethtool util-linux mount kmod libseccomp2 pigz bash ca-certificates curl jq procps hostname
    containerd runc containernetworking-plugins busybox
)

install_debian() {
    local signed="[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" packages
    packages=$(IFS=, && echo "${node_packages[*]}")
    mmdebstrap --mode=root --variant=minbase --format=directory --include="$packages" \
        --aptopt='Acquire::Retries "3"' --aptopt='Acquire::http::Timeout "30"' \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
        bookworm "$node_root" \
        "deb $signed http://deb.debian.org/debian bookworm main" \
        "deb $signed http://deb.debian.org/debian bookworm-updates main" \
        "deb $signed http://deb.debian.org/debian-security bookworm-security main"
    rm -rf "$node_root"/var/lib/apt/lists/* "$node_root"/var/cache/apt/* "$node_root"/var/log/*
}

add_kubernetes() {
    copy_kind_files
    set_up_systemd
    set_up_containerd
    set_up_network
    write_storage_manifest
    install -m 755 "$node_programs"/{kubelet,kubeadm,kubectl} "$node_root/usr/bin/"
    install -m 755 "$node_programs/crictl" "$node_root/usr/local/bin/"
    mkdir -p "$node_root/etc/kubernetes/manifests"
    printf '%s' "$kubernetes_version" >"$node_root/kind/version"
}

copy_kind_files() {
    local files="$node_programs/kind-files"
    cp -r "$files/etc" "$files/kind" "$node_root/"
    install -m 755 "$files/usr/local/bin/entrypoint" "$node_root/usr/local/bin/"
    chmod 755 "$node_root"/kind/bin "$node_root"/kind/bin/*
    mkdir -p "$node_root/kind/manifests"
}

# A container needs none of the services that Debian starts on a machine.
set_up_systemd() {
    local units="$node_root/lib/systemd/system"
    rm -f "$units"/sysinit.target.wants/systemd-tmpfiles-setup.service
    rm -f "$units"/{multi-user,local-fs,basic}.target.wants/* "$units"/sockets.target.wants/*{udev,initctl}*
    rm -rf "$node_root"/etc/systemd/system/*.wants/*
    echo ReadKMsg=no >>"$node_root/etc/systemd/journald.conf"
    ln -sf /lib/systemd/systemd "$node_root/sbin/init"
    chroot "$node_root" systemctl --quiet enable kubelet containerd undo-mount-hacks
    # It would change the machine's kernel.
    chroot "$node_root" systemctl --quiet mask systemd-binfmt
}

set_up_containerd() {
    local program configuration="$node_root/etc/containerd/config.toml"
    # kind's unit starts it from there.
    for program in containerd containerd-shim-runc-v2 ctr; do ln -sf "/usr/bin/$program" "$node_root/usr/local/bin/$program"; done
    # kubeadm and containerd are to agree on the pause image; without CAP_SYS_RESOURCE no process can be made less likely to be killed.
    sed -i -e "s#^\( *sandbox_image\) = .*#\1 = \"$(kubernetes_image pause)\"#" \
        -e 's/^\( *restrict_oom_score_adj\) = .*/\1 = true/' "$configuration"
    grep -q "sandbox_image = \"$(kubernetes_image pause)\"" "$configuration"
    chroot "$node_root" ctr oci spec |
        chroot "$node_root" jq '.hooks.createContainer += [{path: "/kind/bin/mount-product-files.sh"}] | del(.process.rlimits)' >"$node_root/etc/containerd/cri-base.json"
}

set_up_network() {
    mkdir -p "$node_root/opt/cni/bin" "$node_root/etc/cni/net.d"
    cp "$node_root"/usr/lib/cni/{host-local,loopback,bridge,portmap} "$node_root/opt/cni/bin/"
    cp "$offline_scripts/node/network.conflist" "$node_root/etc/cni/net.d/10-bridge.conflist"
    cp "$offline_scripts/node/default-cni.yaml" "$node_root/kind/manifests/"
}

# The manifest is a string in kind's source, with the images' names as constants.
write_storage_manifest() {
    sed -e '1,/^const defaultStorageManifest/d' -e 's/^`$//' \
        -e "s#\` + storageProvisionerImage + \`#$(storage_image storageProvisionerImage)#" \
        -e "s#\` + storageHelperImage + \`#$(storage_image storageHelperImage)#" \
        "$node_programs/kind-files/const_storage.go" >"$node_root/kind/manifests/default-storage.yaml"
    if grep -n '`' "$node_root/kind/manifests/default-storage.yaml"; then return 1; fi
}

# storage_image CONSTANT: the image's name in kind's source.
storage_image() { sed -n "s/^const $1 = \"\(.*\)\"/\1/p" "$node_programs/kind-files/const_storage.go"; }

# kubernetes_image NAME: the image's full name, with the tag that this kubeadm asks for.
kubernetes_image() { "$node_programs/kubeadm" config images list --kubernetes-version "$kubernetes_version" | grep "/$1:"; }
