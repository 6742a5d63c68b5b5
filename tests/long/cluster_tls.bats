#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A Redis Cluster that speaks nothing but TLS (rediss+cluster://).
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153,SC2154

load ../helpers/common
load ../helpers/cluster
load ../helpers/line
load ../helpers/tls

# What the helpers call.
redis-cli() {
	command redis-cli --tls --cacert "$CERTIFICATES/ca.pem" "$@"
}

setup_file() {
	CERTIFICATES=$(mktemp -d "${TMPDIR:-/tmp}/dlock-certificates.XXXXXX")
	export CERTIFICATES
	(cd "$CERTIFICATES" && make_files && make_ca other)
	start_cluster --port 0 --tls-port @PORT@ --tls-cluster yes --tls-replication yes --tls-auth-clients no \
		--tls-cert-file "$CERTIFICATES/server.pem" --tls-key-file "$CERTIFICATES/server.key" \
		--tls-ca-cert-file "$CERTIFICATES/ca.pem"
	DLOCK_SERVER="rediss+cluster://127.0.0.1:$(node_port 0),127.0.0.1:$(node_port 1)?cacert=$CERTIFICATES/ca.pem"
	export DLOCK_SERVER
}

teardown_file() {
	stop_cluster
	rm -rf "$CERTIFICATES"
}

setup() {
	common_setup
	cluster_flush
	line_setup
}

@test "in TLS: the lock is taken where its slot is, whichever node is named, held and handed on while it moves" {
	local i owner
	owner=$(owner_of job)
	for i in $(nodes); do
		DLOCK_SERVER="rediss+cluster://127.0.0.1:$(node_port "$i")?cacert=$CERTIFICATES/ca.pem" run -0 dlock -v job \
			sh -c 'redis-cli --tls --cacert "$1/ca.pem" -p "$2" GET "$DLOCK_KEY"; echo "$DLOCK_TOKEN"' - \
			"$CERTIFICATES" "$(node_port "$owner")"
		[ "$(grep -oE '[0-9a-f-]{36}' <<<"$output" | sort | uniq -c | awk '{ print $1 }')" = 2 ]
	done
	mkfifo gate.hold
	holds -t 6s job
	waits_for first job
	wait_until 5s hears job 1
	move_slot job "$(other_master "$owner")"
	wait_until 10s hears job 1
	boottime >let-go
	echo >gate.hold
	wait "$HOLDER" "${WAITER[first]}"
	assert_order first
}

@test "in TLS: a certificate of an unknown CA is refused with 77, and --check says that it is a cluster in TLS" {
	run -77 dlock -S "${DLOCK_SERVER%%\?*}?cacert=$CERTIFICATES/other.pem" job true
	assert_line --partial 'certificate'
	assert_equal "${#lines[@]}" 1
	run dlock --check
	assert_success
	assert_output --partial cluster
	run -0 dlock job true
}
