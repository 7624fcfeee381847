#!/usr/bin/env bash
# Checks the Helm chart and what is made of it: lint, what the values' schema refuses and in which words, the definition in it, the kustomize base.
# What it renders to is checked with the other generated files: generate.sh --check.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../e2e/cluster/paths.sh"
cd "$root"
chart=charts/ragengine

has_the_version_of_the_workspace() {
    local version name
    version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n1)
    for name in version appVersion; do
        [[ $(sed -n "s/^$name: \"\?\([^\"]*\)\"\?$/\1/p" $chart/Chart.yaml) == "$version" ]] || fail "$name in $chart/Chart.yaml is not $version, the workspace's version"
    done
}

every_snapshot_has_its_values() {
    local snapshot
    for snapshot in "$chart"/tests/*.yaml; do
        [[ $snapshot == *.values.yaml || -e ${snapshot%.yaml}.values.yaml ]] || fail "$snapshot is of no values: delete it"
    done
}

lint() {
    local values
    helm lint --strict --quiet "$chart"
    for values in "$chart"/tests/*.values.yaml; do helm lint --strict --quiet "$chart" --values "$values"; done
}

# refuses VALUE WORDS: the chart is not rendered with this value, and the error has these words.
refuses() {
    local said
    if said=$(helm template ragengine "$chart" --set-json "$1" 2>&1); then fail "the chart takes $1"; fi
    [[ $said == *"$2"* ]] || fail "$1 is not refused with the words: $2" "$said"
}

schema_refuses_mistakes() {
    refuses 'replica=2' "additional properties 'replica' not allowed"
    refuses 'image={"repo":"a"}' "at '/image': additional properties 'repo' not allowed"
    refuses 'metrics={"podMonitor":{"label":{}}}' "additional properties 'label' not allowed"
    refuses 'replicas="two"' "at '/replicas': got string, want integer"
    refuses 'replicas=-1' "at '/replicas': minimum"
    refuses 'watchNamespaces="team-a,team-b"' "at '/watchNamespaces': got string, want array"
    refuses 'watchNamespaces=["Team_A"]' "at '/watchNamespaces/0': 'Team_A' does not match pattern"
    refuses 'image={"pullPolicy":"never"}' "must be one of 'Always', 'IfNotPresent', 'Never'"
    refuses 'image={"digest":"sha256:abc"}' "at '/image/digest': 'sha256:abc' does not match pattern"
    refuses 'serverImage={"digest":"latest"}' "at '/serverImage/digest': 'latest' does not match pattern"
    refuses 'serverImagePullSecrets=[{"name":"registry"}]' "at '/serverImagePullSecrets/0': got object, want string"
    refuses 'openshift="yes"' "at '/openshift': value must be one of 'auto', true, false"
    refuses 'log={"format":"xml"}' "must be one of 'json', 'text'"
    refuses 'concurrency=0' "at '/concurrency': minimum"
    refuses 'maxRollouts=0' "at '/maxRollouts': minimum"
    refuses 'crds={"install":"yes"}' "at '/crds/install': got string, want boolean"
    refuses 'podLabels={"team":1}' "at '/podLabels/team': got number, want string"
}

# definitions CHART [OPTION...]: what is rendered of them.
definitions() { helm template ragengine "$1" --show-only templates/crds.yaml "${@:2}"; }

definitions_are_kept_unless_told() {
    local rendered
    rendered=$(definitions "$chart")
    [[ $(grep --count '^    helm.sh/resource-policy: keep$' <<<"$rendered") == "$(grep --count '^kind: CustomResourceDefinition$' <<<"$rendered")" ]] ||
        fail "a definition would be deleted with the chart"
    rendered=$(definitions "$chart" --set crds.keep=false)
    [[ $rendered != *resource-policy* ]] || fail "crds.keep=false keeps a definition"
}

# Braces in a field's description are no template.
definition_is_data() {
    local copy words='{{ fail "a template" }}' rendered
    copy=$(mktemp -d)
    cp --recursive "$chart/." "$copy/"
    sed -i "0,/description: [A-Z].*/s//description: '$words'/" "$copy"/files/crds/ragengine.dev_ragengines.yaml
    rendered=$(definitions "$copy") || true
    rm -rf "$copy"
    [[ $rendered == *"$words"* ]] || fail "what is in the definition is taken for a template"
}

# asks_for_users [OPTION...]: whether the operator's pod asks for a user of its own.
asks_for_users() { helm template ragengine "$chart" --show-only templates/deployment.yaml "$@" | grep --quiet runAsUser; }

openshift_chooses_the_users() {
    local group=security.openshift.io/v1
    asks_for_users || fail "the operator's pod asks for no user"
    asks_for_users --api-versions $group --set openshift=false || fail "openshift=false is not believed"
    if asks_for_users --api-versions $group; then fail "the operator's pod asks for a user on OpenShift"; fi
    if asks_for_users --set openshift=true; then fail "openshift=true is not believed"; fi
}

kustomize_base() {
    kubectl kustomize config/base >/dev/null
}

step "Version of the chart" has_the_version_of_the_workspace
step "Snapshots of the chart have values" every_snapshot_has_its_values
if [[ -x $cluster_bin/helm ]]; then
    step "Lint of the chart" lint
    step "Values that the chart refuses" schema_refuses_mistakes
    step "Users on OpenShift" openshift_chooses_the_users
    step "The definitions outlive the chart" definitions_are_kept_unless_told
    step "The definition is no template" definition_is_data
else
    echo "lint and values skipped: there is no helm (e2e/cluster/helm.sh)"
fi
if command -v kubectl >/dev/null; then
    step "Kustomize base" kustomize_base
else
    echo "kustomize base skipped: there is no kubectl (make cluster-up)"
fi
