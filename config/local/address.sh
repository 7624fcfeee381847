# shellcheck shell=bash
# The server's address, from LISTEN. Sourced by the scripts beside it, after step.sh.

LISTEN="${LISTEN:-127.0.0.1:5000}"
[[ $LISTEN =~ ^(.+):([0-9]+)$ ]] || fail "LISTEN=$LISTEN is not an address and a port: give one like LISTEN=127.0.0.1:5055"
export LISTEN

# Where a client on this machine reaches it: "every address" is none that one can connect to.
case ${BASH_REMATCH[1]} in
    0.0.0.0) client_host=127.0.0.1 ;;
    '[::]') client_host='[::1]' ;;
    *) client_host=${BASH_REMATCH[1]} ;;
esac
client_port=${BASH_REMATCH[2]}
# shellcheck disable=SC2034
client_url="http://$client_host:$client_port"
