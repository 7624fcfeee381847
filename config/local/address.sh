# shellcheck shell=bash
# Parses LISTEN, the server's address. Sourced by the scripts in this folder, after step.sh.

LISTEN="${LISTEN:-127.0.0.1:5000}"
[[ $LISTEN =~ ^(.+):([0-9]+)$ ]] ||
    fail "LISTEN=$LISTEN is invalid: expected ADDRESS:PORT, for example LISTEN=127.0.0.1:5055"
export LISTEN

# A client cannot connect to an unspecified address, so it uses the loopback address instead.
case ${BASH_REMATCH[1]} in
    0.0.0.0) client_host=127.0.0.1 ;;
    '[::]') client_host='[::1]' ;;
    *) client_host=${BASH_REMATCH[1]} ;;
esac
client_port=${BASH_REMATCH[2]}
# shellcheck disable=SC2034
client_url="http://$client_host:$client_port"
