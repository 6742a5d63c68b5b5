#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A private Redis that speaks TLS, and certificates made by openssl(1).
#
#   make_ca NAME                         NAME.pem and NAME.key, in the current directory
#   make_certificate NAME CA ALT [ARG...]  NAME.pem and NAME.key, signed by CA; ALT is what it is for,
#                                        as in DNS:localhost,IP:127.0.0.1; ARG is for openssl x509
#   start_tls_redis [OPTION...]          with server.pem, server.key and ca.pem of the current
#                                        directory; sets TLS_PORT and DLOCK_SERVER (rediss://localhost)
#
# shellcheck disable=SC2034 # variables are for the caller

KEY_KIND=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)

make_ca() {
	openssl req -x509 "${KEY_KIND[@]}" -keyout "$1.key" -out "$1.pem" -subj "/CN=$1 of a test" \
		-days 3 2>>openssl.log
}

make_certificate() {
	local name=$1 ca=$2 alt=$3
	shift 3
	openssl req "${KEY_KIND[@]}" -keyout "$name.key" -out "$name.csr" -subj "/CN=$name" 2>>openssl.log &&
		echo "subjectAltName=$alt" >"$name.ext" &&
		openssl x509 -req -in "$name.csr" -CA "$ca.pem" -CAkey "$ca.key" -CAcreateserial -days 3 \
			-out "$name.pem" -extfile "$name.ext" "$@" 2>>openssl.log
}

# make_files: what start_tls_redis wants.
make_files() {
	make_ca ca
	make_certificate server ca DNS:localhost,IP:127.0.0.1
}

start_tls_redis() {
	local attempt
	for attempt in 1 2 3; do
		TLS_PORT=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
		! start_redis --tls-port "$TLS_PORT" --tls-cert-file "$PWD/server.pem" \
			--tls-key-file "$PWD/server.key" --tls-ca-cert-file "$PWD/ca.pem" \
			--tls-auth-clients no "$@" || break
	done
	export DLOCK_SERVER=rediss://localhost:$TLS_PORT TLS_PORT
	[ -n "$REDIS_PID" ] && redis_answers
}

# start_peer MODE [ARG...]: tests/helpers/tls_peer.py; sets PEER_PORT.
start_peer() {
	start /usr/bin/python3 "$TESTS_DIR/helpers/tls_peer.py" "$@" >peer.port
	wait_until 5s test -s peer.port
	PEER_PORT=$(<peer.port)
}
